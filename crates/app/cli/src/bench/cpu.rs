use std::fs;

/// Ticks a second in which Linux says what a process took.
const TICKS_PER_S: f64 = 100.0;

/// Processor seconds that a process has taken, or this one; nothing where the system does not say.
pub(super) fn spent_s(process: Option<u32>) -> Option<f64> {
    let process = process.map_or_else(|| "self".to_owned(), |id| id.to_string());
    let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    ticks(&line).map(|ticks| ticks as f64 / TICKS_PER_S)
}

/// User and system time, which come eleventh and twelfth after the name in parentheses.
fn ticks(line: &str) -> Option<u64> {
    let (_, rest) = line.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_mislead() {
        let line = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 5 1 2";
        assert_eq!(ticks(line), Some(300));
        assert_eq!(ticks("7 (a) S 1"), None);
    }
}
