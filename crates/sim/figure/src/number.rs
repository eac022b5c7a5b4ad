/// Whole numbers below this are exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A number as it is kept: whole numbers as they are, others rounded to 6 significant digits.
pub(crate) fn rounded(value: f64) -> f64 {
    if !value.is_finite() || (value.fract() == 0.0 && value.abs() < EXACT) {
        // Zero has no sign here.
        return value + 0.0;
    }
    format!("{value:.5e}").parse().expect("what Rust writes it reads")
}

/// The shortest text that reads back as this number; an exponent where that is very short or long.
pub(crate) fn text(value: f64) -> String {
    let size = value.abs();
    if value.is_finite() && size != 0.0 && !(1e-5..1e16).contains(&size) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits_unless_whole() {
        let written = |value: f64| text(rounded(value));
        assert_eq!(written(1.0 / 3.0), "0.333333");
        assert_eq!(written(-20.000_000_1), "-20");
        assert_eq!(written(0.1 + 0.2), "0.3");
        assert_eq!(written(12_345_678.9), "12345700");
        assert_eq!(written(12_345_678.0), "12345678");
        assert_eq!(written(0.000_012_345_678), "0.0000123457");
        assert_eq!(written(1.234_567_89e-9), "1.23457e-9");
        assert_eq!(written(1e300), "1e300");
        assert_eq!(written(-0.0), "0");
        assert_eq!(written(f64::INFINITY), "inf");
    }
}
