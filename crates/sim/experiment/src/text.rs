/// Rows as text in columns: the first flush left, the others flush right, two blanks between them,
/// a line each. Rows may end early.
///
/// ```
/// let rows = [["policy", "mean"], ["tofec", "102.3"]].map(|row| row.map(String::from).to_vec());
/// assert_eq!(ripstop_experiment::text_columns(&rows), "policy   mean\ntofec   102.3\n");
/// ```
pub fn text_columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let blanks = widths[column] - cell.chars().count();
            let gap = if column == 0 { 0 } else { 2 };
            let (before, after) = if column == 0 { (0, blanks) } else { (blanks, 0) };
            line.extend(std::iter::repeat_n(' ', gap + before));
            line += cell;
            line.extend(std::iter::repeat_n(' ', after));
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A number as tables for people have it: three or four digits that matter.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        "-".into()
    } else if size >= 1e6 {
        format!("{value:.3e}")
    } else if size >= 1000.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 0.1 || size == 0.0 {
        format!("{value:.2}")
    } else if size >= 0.001 {
        format!("{value:.3}")
    } else {
        format!("{value:.2e}")
    }
}

/// With at most two decimals, without zeros at the end.
pub(crate) fn trimmed(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A share in percent.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1}%", share * 100.0) } else { "-".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = vec![
            vec!["a".to_owned(), "b".to_owned(), "cc".to_owned()],
            vec!["±1".to_owned(), "2000".to_owned()],
            vec![],
        ];
        assert_eq!(text_columns(&rows), "a      b  cc\n±1  2000\n\n");
        assert_eq!(text_columns(&[]), "");
    }

    #[test]
    fn numbers_have_few_digits() {
        let shown =
            [1.5e7, 12_345.6, 999.96, 12.34, 1.234, 0.0, 0.012_34, 0.000_123_4, f64::INFINITY];
        assert_eq!(
            shown.map(number),
            ["1.500e7", "12346", "1000.0", "12.3", "1.23", "0.00", "0.012", "1.23e-4", "-"]
        );
        assert_eq!(percent(0.1234), "12.3%");
    }
}
