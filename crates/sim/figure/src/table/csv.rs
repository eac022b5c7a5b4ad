use super::{
    cell::Cell,
    error::{TableError, check_names},
};
use crate::number::text;

/// Names of columns, and rows of cells.
type Read = (Vec<String>, Vec<Vec<Cell>>);

pub(super) fn write(columns: &[String], rows: &[Vec<Cell>]) -> String {
    let mut csv = String::new();
    line(&mut csv, columns.iter().map(|name| quoted(name)));
    for row in rows {
        line(
            &mut csv,
            row.iter().map(|cell| match cell {
                Cell::Text(text) => quoted(text),
                Cell::Number(number) => text(*number),
                Cell::Missing => String::new(),
            }),
        );
    }
    csv
}

fn line(csv: &mut String, cells: impl Iterator<Item = String>) {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            csv.push(',');
        }
        csv.push_str(&cell);
    }
    csv.push('\n');
}

/// A text that is read back as one.
fn quoted(text: &str) -> String {
    let is_number = text.parse::<f64>().is_ok();
    if text.is_empty() || is_number || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A cell as it stands in CSV.
struct Raw {
    text: String,
    is_quoted: bool,
}

impl Raw {
    fn cell(self) -> Cell {
        match self.text.parse::<f64>() {
            _ if self.is_quoted => Cell::Text(self.text),
            _ if self.text.is_empty() => Cell::Missing,
            Ok(number) => Cell::Number(number).kept(),
            Err(_) => Cell::Text(self.text),
        }
    }
}

pub(super) fn read(text: &str) -> Result<Read, TableError> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut line = 1;
    let mut table: Option<Read> = None;
    while !rest.is_empty() {
        let (row, after) = row(rest).ok_or(TableError::Quote { line })?;
        let read = &rest[..rest.len() - after.len()];
        // Under a single column an empty line is a missing cell.
        let is_row = table.as_ref().is_some_and(|(columns, _)| columns.len() == 1);
        let is_blank = !is_row && read.trim_end_matches(['\r', '\n']).is_empty();
        match &mut table {
            _ if is_blank => {}
            None => {
                let columns: Vec<String> = row.into_iter().map(|cell| cell.text).collect();
                check_names(&columns)?;
                table = Some((columns, Vec::new()));
            }
            Some((columns, rows)) => {
                let (found, wanted) = (row.len(), columns.len());
                if found != wanted {
                    return Err(TableError::Width { line, found, wanted });
                }
                rows.push(row.into_iter().map(Raw::cell).collect());
            }
        }
        line += read.matches('\n').count();
        rest = after;
    }
    table.ok_or(TableError::Empty)
}

/// The first row, and what follows it; none if a quoted cell does not end.
fn row(text: &str) -> Option<(Vec<Raw>, &str)> {
    let mut cells = Vec::new();
    let mut rest = text;
    loop {
        let (cell, after) = match rest.strip_prefix('"') {
            Some(inner) => quoted_cell(inner)?,
            None => plain_cell(rest),
        };
        cells.push(cell);
        if let Some(after) = after.strip_prefix(',') {
            rest = after;
            continue;
        }
        let after = after.strip_prefix('\r').unwrap_or(after);
        let ends = after.is_empty() || after.starts_with('\n');
        return ends.then(|| (cells, after.strip_prefix('\n').unwrap_or(after)));
    }
}

/// A cell without quotation marks, and what follows it.
fn plain_cell(text: &str) -> (Raw, &str) {
    let (cell, after) = text.split_at(text.find([',', '\n']).unwrap_or(text.len()));
    let ends_row = !after.starts_with(',');
    let cell = if ends_row { cell.strip_suffix('\r').unwrap_or(cell) } else { cell };
    (Raw { text: cell.to_owned(), is_quoted: false }, after)
}

/// A cell whose first quotation mark is gone already, and what follows its last.
fn quoted_cell(inner: &str) -> Option<(Raw, &str)> {
    let mut text = String::new();
    let mut rest = inner;
    loop {
        let (part, after) = rest.split_once('"')?;
        text.push_str(part);
        match after.strip_prefix('"') {
            Some(after) => {
                text.push('"');
                rest = after;
            }
            None => return Some((Raw { text, is_quoted: true }, after)),
        }
    }
}
