use super::svg::Span;
use libm::{ceil, floor, log10};

/// How an axis divides its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scale {
    Linear,
    Log,
}

/// An axis of a panel.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    pub(super) label: String,
    scale: Scale,
    low: Option<f64>,
    high: Option<f64>,
}

impl Axis {
    /// Equal distances for equal differences. The label names the quantity and its unit.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear, low: None, high: None }
    }

    /// Equal distances for equal ratios; what is not positive is not shown.
    pub fn log(label: impl Into<String>) -> Self {
        Self { scale: Scale::Log, ..Self::linear(label) }
    }

    /// Begins at this value; otherwise at or a little below the least that is shown.
    #[must_use]
    pub fn from(mut self, low: f64) -> Self {
        self.low = Some(low);
        self
    }

    /// Ends at this value; otherwise at or a little above the greatest that is shown.
    #[must_use]
    pub fn to(mut self, high: f64) -> Self {
        self.high = Some(high);
        self
    }

    /// Whether it can show this value.
    pub(super) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }

    /// The axis laid along a length, for values of which it must show those it can. Values that it
    /// is told to begin or end at count if it can show them.
    pub(super) fn lay(&self, values: impl Iterator<Item = f64>, along: Span) -> Laid {
        let mut range: Option<(f64, f64)> = None;
        for value in values.filter(|value| self.shows(*value)) {
            let (low, high) = range.unwrap_or((value, value));
            range = Some((low.min(value), high.max(value)));
        }
        let (low, high) = range.unwrap_or((1.0, 1.0));
        let told_low = self.low.filter(|low| self.shows(*low));
        let told_high = self.high.filter(|high| self.shows(*high));
        let low = told_low.unwrap_or_else(|| low.min(told_high.unwrap_or(low)));
        let high = told_high.unwrap_or_else(|| high.max(low)).max(low);
        match self.scale {
            Scale::Linear => Laid::linear(low, high, (told_low, told_high), along),
            Scale::Log => Laid::log(low, high, (told_low, told_high), along),
        }
    }
}

/// A mark on an axis.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tick {
    pub(super) at: f64,
    /// Empty for a mark between those that are labelled.
    pub(super) label: String,
}

/// An axis with its range, marks and place.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Laid {
    scale: Scale,
    /// Its ends, as powers of ten for a logarithmic axis.
    low: f64,
    high: f64,
    along: Span,
    pub(super) ticks: Vec<Tick>,
}

type Told = (Option<f64>, Option<f64>);

impl Laid {
    fn linear(low: f64, high: f64, told: Told, along: Span) -> Self {
        let high = if high > low { high } else { low + if low == 0.0 { 1.0 } else { low.abs() } };
        let ticks_max = (along.len() / 55.0).clamp(3.0, 9.0);
        let step = nice_step((high - low) / ticks_max);
        let low = told.0.unwrap_or_else(|| floor(low / step + 1e-9) * step);
        let high =
            told.1.filter(|told| *told > low).unwrap_or_else(|| ceil(high / step - 1e-9) * step);
        let (first, last) = (ceil(low / step - 1e-9), floor(high / step + 1e-9));
        let decimals = (-floor(log10(step) + 1e-9)).max(0.0) as usize;
        let ticks = (0..=(last - first).max(0.0) as u32).map(|index| {
            let at = (first + f64::from(index)) * step;
            Tick { at, label: linear_label(at, step, decimals) }
        });
        Self { scale: Scale::Linear, low, high, along, ticks: ticks.collect() }
    }

    fn log(low: f64, high: f64, told: Told, along: Span) -> Self {
        let low = told.0.unwrap_or_else(|| *steps(low, low).first().unwrap_or(&low));
        let high = told.1.unwrap_or_else(|| {
            steps(high, high).into_iter().rfind(|step| *step >= high).unwrap_or(high)
        });
        let high = if high > low { high } else { low * 10.0 };
        let decades = log10(high) - log10(low);
        let inside = |at: &f64| *at >= low * (1.0 - 1e-9) && *at <= high * (1.0 + 1e-9);
        // Every decade, or as many as leave room for labels.
        let stride = ceil(decades / (along.len() / 35.0).max(2.0)).max(1.0) as i32;
        let ticks = grid(low, high).into_iter().filter(|(_, _, at)| inside(at));
        let ticks = ticks.filter_map(|(power, digit, at)| {
            let labelled = match digit {
                1 => power % stride == 0,
                2 | 5 => decades <= 2.0,
                _ => false,
            };
            let label = if labelled { log_label(at) } else { String::new() };
            (labelled || decades <= 4.0 || digit == 1).then_some(Tick { at, label })
        });
        let ticks = ticks.collect();
        Self { scale: Scale::Log, low: log10(low), high: log10(high), along, ticks }
    }

    /// Where a value that the axis can show stands.
    pub(super) fn place(&self, value: f64) -> f64 {
        let value = match self.scale {
            Scale::Linear => value,
            Scale::Log => log10(value),
        };
        let share = (value - self.low) / (self.high - self.low);
        // Far outside nothing is seen, and numbers stay short.
        self.along.at(share.clamp(-10.0, 11.0))
    }
}

/// The least of 1, 2, 5 times a power of ten that is not below `step`.
fn nice_step(step: f64) -> f64 {
    steps(step, step).into_iter().find(|nice| *nice >= step * (1.0 - 1e-9)).unwrap_or(step)
}

/// Ten to a power, as exact as a number can be.
fn ten_to(power: i32) -> f64 {
    format!("1e{power}").parse().expect("a number with an exponent")
}

/// (power, digit, digit · 10^power) around a range of positive numbers, ascending.
fn grid(low: f64, high: f64) -> Vec<(i32, u8, f64)> {
    let powers = floor(log10(low)) as i32 - 1..=ceil(log10(high)) as i32 + 1;
    let digits = |power| (1..=9).map(move |digit| (power, digit, f64::from(digit) * ten_to(power)));
    powers.flat_map(digits).collect()
}

/// 1, 2, 5 times powers of ten from the last that is not above `low` to the first that is not below
/// `high`.
fn steps(low: f64, high: f64) -> Vec<f64> {
    let nice = grid(low, high).into_iter().filter(|(_, digit, _)| matches!(digit, 1 | 2 | 5));
    let nice: Vec<f64> = nice.map(|(_, _, at)| at).collect();
    let first = nice.iter().rposition(|at| *at <= low * (1.0 + 1e-9)).unwrap_or(0);
    let last = nice.iter().position(|at| *at >= high * (1.0 - 1e-9)).unwrap_or(nice.len() - 1);
    nice[first..=last.max(first)].to_vec()
}

fn linear_label(at: f64, step: f64, decimals: usize) -> String {
    if at.abs() < step * 1e-6 {
        "0".into()
    } else if at.abs() >= 1e6 || decimals > 5 {
        crate::number::text(crate::number::rounded(at)).replace("000000", "e6")
    } else {
        format!("{at:.decimals$}")
    }
}

fn log_label(at: f64) -> String {
    if (1e-4..1e6).contains(&at) { crate::number::text(at) } else { format!("{at:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64]) -> String {
        let laid = axis.lay(values.iter().copied(), Span { from: 0.0, to: 400.0 });
        let labels =
            laid.ticks.iter().map(|tick| tick.label.as_str()).filter(|label| !label.is_empty());
        labels.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ticks_are_round_numbers() {
        let linear = || Axis::linear("x");
        assert_eq!(labels(&linear(), &[3.0, 68.0]), "0 10 20 30 40 50 60 70");
        assert_eq!(
            labels(&linear().from(0.0), &[0.11, 0.52]),
            "0.0 0.1 0.2 0.3 0.4 0.5 0.6".replace("0.0", "0")
        );
        assert_eq!(labels(&linear(), &[-1.0, 1.0]), "-1.0 -0.5 0 0.5 1.0");
        assert_eq!(labels(&linear().from(0.0).to(1.0), &[0.3]), "0 0.2 0.4 0.6 0.8 1.0");
        assert_eq!(labels(&linear(), &[5.0, 5.0, f64::NAN]), "5 6 7 8 9 10");
        assert_eq!(labels(&linear(), &[0.0, 3e6]), "0 500000 1e6 1500000 2e6 2500000 3e6");
        assert_eq!(labels(&linear(), &[]), "1.0 1.2 1.4 1.6 1.8 2.0");
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten_and_what_stands_between() {
        let log = || Axis::log("x");
        assert_eq!(labels(&log(), &[80.0, 900.0]), "50 100 200 500 1000");
        assert_eq!(labels(&log(), &[1e-5, 1.0, 0.0, -3.0]), "1e-5 0.0001 0.001 0.01 0.1 1");
        assert_eq!(labels(&log(), &[1.0, 1e30]).split(' ').count(), 11);
        assert_eq!(labels(&log().from(30.0).to(70.0), &[1.0]), "50");
        assert_eq!(labels(&log(), &[]), "1 2 5 10");
    }

    #[test]
    fn values_stand_where_their_scale_puts_them() {
        let along = Span { from: 100.0, to: 0.0 };
        let linear = Axis::linear("y").from(0.0).to(10.0).lay([].into_iter(), along);
        assert!((linear.place(2.5) - 75.0).abs() < 1e-9);
        let log = Axis::log("y").from(1.0).to(10_000.0).lay([].into_iter(), along);
        assert!((log.place(10.0) - 75.0).abs() < 1e-9);
        assert!((log.place(1e300) + 1000.0).abs() < 1e-9);
    }
}
