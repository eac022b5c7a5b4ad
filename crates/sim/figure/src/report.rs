use crate::{Cell, Table, plot::escape};
use std::fmt::Write;

const STYLE: &str = "\
:root { color-scheme: light dark }
body { font: 16px/1.5 sans-serif; max-width: 1040px; margin: 2rem auto; padding: 0 1rem }
figure { margin: 2rem 0 }
figure svg { max-width: 100%; height: auto; border-radius: 4px }
figcaption, caption { text-align: left; padding: 0.3rem 0; opacity: 0.8 }
.wide { overflow-x: auto }
table { border-collapse: collapse; margin: 2rem 0; font-size: 14px }
th, td { padding: 0.2rem 0.8rem; border-bottom: 1px solid #8886; text-align: left; white-space: nowrap }
th { border-bottom-width: 2px }
.number { text-align: right; font-variant-numeric: tabular-nums }
";

/// A page of HTML that needs nothing else: a title, an introduction (paragraphs divided by blank
/// lines), figures (caption, SVG text as [`Figure::svg`](crate::Figure::svg) writes it) and tables
/// (caption, table).
///
/// Texts are escaped; the SVG is taken as it is.
pub fn report_html(
    title: &str,
    intro: &str,
    figures: &[(&str, &str)],
    tables: &[(&str, &Table)],
) -> String {
    let mut page =
        String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    let title = escape(title);
    page +=
        &["<title>", &title, "</title>\n<style>\n", STYLE, "</style>\n</head>\n<body>\n"].concat();
    page += &["<h1>", &title, "</h1>\n"].concat();
    for paragraph in intro.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
        page += &["<p>", &escape(paragraph), "</p>\n"].concat();
    }
    for (caption, svg) in figures {
        let caption = escape(caption);
        page += &[
            "<figure>\n",
            svg.trim_end(),
            "\n<figcaption>",
            &caption,
            "</figcaption>\n</figure>\n",
        ]
        .concat();
    }
    for (caption, table) in tables {
        write_table(&mut page, caption, table);
    }
    page + "</body>\n</html>\n"
}

fn write_table(page: &mut String, caption: &str, table: &Table) {
    let is_number = |column: usize| {
        let mut cells = table.rows().iter().map(|row| &row[column]);
        cells.clone().any(|cell| cell.number().is_some())
            && cells.all(|cell| !matches!(cell, Cell::Text(_)))
    };
    let classes: Vec<&str> = (0..table.columns().len())
        .map(|column| if is_number(column) { " class=\"number\"" } else { "" })
        .collect();
    *page += "<div class=\"wide\"><table>\n";
    *page += &["<caption>", &escape(caption), "</caption>\n"].concat();
    write_row(page, "th", &classes, table.columns().iter().cloned());
    for cells in table.rows() {
        write_row(page, "td", &classes, cells.iter().map(Cell::shown));
    }
    *page += "</table></div>\n";
}

fn write_row(page: &mut String, cell: &str, classes: &[&str], texts: impl Iterator<Item = String>) {
    *page += "<tr>";
    for (text, class) in texts.zip(classes) {
        // Writing to a string does not fail.
        let _ = write!(page, "<{cell}{class}>{}</{cell}>", escape(&text));
    }
    *page += "</tr>\n";
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_page_holds_everything() {
        let mut table = Table::new(["policy", "mean_ms", "note"]);
        table.push(["<b>".into(), 1.5.into(), Cell::Missing]);
        table.push(["a & b".into(), Cell::Missing, Cell::Missing]);
        let page = report_html(
            "Delay < 5",
            "First.\n\nSecond\nline.",
            &[("A \"figure\"", "<svg></svg>\n")],
            &[("Means", &table)],
        );
        let body = page.split_once("<body>").unwrap().1;
        expect![[r#"

            <h1>Delay &lt; 5</h1>
            <p>First.</p>
            <p>Second
            line.</p>
            <figure>
            <svg></svg>
            <figcaption>A &quot;figure&quot;</figcaption>
            </figure>
            <div class="wide"><table>
            <caption>Means</caption>
            <tr><th>policy</th><th class="number">mean_ms</th><th>note</th></tr>
            <tr><td>&lt;b&gt;</td><td class="number">1.5</td><td></td></tr>
            <tr><td>a &amp; b</td><td class="number"></td><td></td></tr>
            </table></div>
            </body>
            </html>
        "#]]
        .assert_eq(body);
        assert!(page.contains("<title>Delay &lt; 5</title>"));
        assert!(!page.contains("<script") && !page.contains("http"));
    }
}
