mod cell;
mod csv;
mod error;

pub use cell::Cell;
pub use error::TableError;

use error::check_names;
use std::{fs, path::Path};

/// Points (x, y).
pub type Points = Vec<(f64, f64)>;

/// Observations, one a row. Columns that hold quantities have names that end with their unit.
///
/// Numbers are rounded when they are put in: whole ones (below 2^53) stay as they are, others keep
/// 6 significant digits. So a table equals what is read back from its CSV.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    ///
    /// # Panics
    /// If a name is empty or there twice.
    pub fn new(columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let columns: Vec<String> = columns.into_iter().map(Into::into).collect();
        if let Err(wrong) = check_names(&columns) {
            panic!("{wrong}");
        }
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has more or fewer cells than there are columns.
    pub fn push(&mut self, row: impl IntoIterator<Item = Cell>) {
        let row: Vec<Cell> = row.into_iter().map(Cell::kept).collect();
        assert_eq!(
            row.len(),
            self.columns.len(),
            "a row has a cell for each of {:?}",
            self.columns
        );
        self.rows.push(row);
    }

    /// Names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The rows; each has as many cells as there are columns.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Where a column stands.
    pub fn index(&self, column: &str) -> Result<usize, TableError> {
        self.columns.iter().position(|name| name == column).ok_or_else(|| TableError::Column {
            name: column.to_owned(),
            columns: self.columns.join(", "),
        })
    }

    /// The rows that have this in a column.
    pub fn only(&self, column: &str, cell: impl Into<Cell>) -> Result<Self, TableError> {
        let (index, cell) = (self.index(column)?, cell.into().kept());
        let rows = self.rows.iter().filter(|row| row[index] == cell).cloned().collect();
        Ok(Self { columns: self.columns.clone(), rows })
    }

    /// The numbers of a column, missing ones left out.
    pub fn numbers(&self, column: &str) -> Result<Vec<f64>, TableError> {
        let index = self.index(column)?;
        let numbers = self.rows.iter().map(|row| number(column, &row[index]));
        numbers.filter_map(Result::transpose).collect()
    }

    /// Points (x, y) for each value of the column `by`: values in the order in which they first
    /// appear, points in the order of their rows. Rows that lack x or y are left out.
    pub fn series(&self, by: &str, x: &str, y: &str) -> Result<Vec<(String, Points)>, TableError> {
        let (by, at_x, at_y) = (self.index(by)?, self.index(x)?, self.index(y)?);
        let mut series: Vec<(String, Points)> = Vec::new();
        for row in &self.rows {
            let name = row[by].shown();
            let place = series.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                series.push((name, Vec::new()));
                series.len() - 1
            });
            if let (Some(x), Some(y)) = (number(x, &row[at_x])?, number(y, &row[at_y])?) {
                series[place].1.push((x, y));
            }
        }
        Ok(series)
    }

    /// As CSV: a header, then a line for each row, ended by line feeds. Texts are quoted where they
    /// must be, and where they would otherwise be read as numbers.
    pub fn to_csv(&self) -> String {
        csv::write(&self.columns, &self.rows)
    }

    /// Reads CSV. A cell without quotation marks that looks like a number is one; an empty cell is
    /// missing.
    pub fn from_csv(text: &str) -> Result<Self, TableError> {
        let (columns, rows) = csv::read(text)?;
        Ok(Self { columns, rows })
    }

    /// Writes a CSV file.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), TableError> {
        let path = path.as_ref();
        fs::write(path, self.to_csv())
            .map_err(|source| TableError::File { path: path.to_owned(), source })
    }

    /// Reads a CSV file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, TableError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path)
            .map_err(|source| TableError::File { path: path.to_owned(), source })?;
        Self::from_csv(&text)
    }
}

fn number(column: &str, cell: &Cell) -> Result<Option<f64>, TableError> {
    match cell {
        Cell::Number(number) => Ok(Some(*number)),
        Cell::Missing => Ok(None),
        Cell::Text(text) => {
            Err(TableError::Number { column: column.to_owned(), found: text.clone() })
        }
    }
}

#[cfg(test)]
mod tests;
