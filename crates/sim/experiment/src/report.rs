use ripstop_figure::{Figure, Table, TableError, report_html};
use std::{fs, path::Path};

/// Tables and figures of one experiment, to be written into a folder: each table as CSV, each
/// figure as SVG, and `report.html`, which needs none of the others.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Heading of the page.
    pub title: String,
    /// What comes first, in paragraphs divided by blank lines.
    pub intro: String,
    figures: Vec<(String, String, String)>,
    tables: Vec<(String, String, Table, bool)>,
}

impl Report {
    /// A page with nothing but words.
    pub fn new(title: impl Into<String>, intro: impl Into<String>) -> Self {
        Self { title: title.into(), intro: intro.into(), figures: Vec::new(), tables: Vec::new() }
    }

    /// Adds a figure: the name of its file without ending, and what it shows.
    pub fn figure(&mut self, file: &str, caption: impl Into<String>, figure: &Figure) {
        self.figures.push((file.to_owned(), caption.into(), figure.svg()));
    }

    /// Adds a table: the name of its file without ending, and what it holds.
    pub fn table(&mut self, file: &str, caption: impl Into<String>, table: Table) {
        self.tables.push((file.to_owned(), caption.into(), table, true));
    }

    /// Adds a table that is written as a file and is too long for the page.
    pub fn long_table(&mut self, file: &str, table: Table) {
        self.tables.push((file.to_owned(), String::new(), table, false));
    }

    /// The page.
    pub fn html(&self) -> String {
        let figures: Vec<_> =
            self.figures.iter().map(|(_, caption, svg)| (caption.as_str(), svg.as_str())).collect();
        let shown = self.tables.iter().filter(|table| table.3);
        let tables: Vec<_> =
            shown.map(|(_, caption, table, _)| (caption.as_str(), table)).collect();
        report_html(&self.title, &self.intro, &figures, &tables)
    }

    /// Writes everything; makes the folder if it is not there.
    pub fn write(&self, folder: &Path) -> Result<(), TableError> {
        let write = |name: String, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|source| TableError::File { path, source })
        };
        fs::create_dir_all(folder)
            .map_err(|source| TableError::File { path: folder.to_owned(), source })?;
        for (file, _, table, _) in &self.tables {
            write(format!("{file}.csv"), &table.to_csv())?;
        }
        for (file, _, svg) in &self.figures {
            write(format!("{file}.svg"), svg)?;
        }
        write("report.html".to_owned(), &self.html())
    }
}
