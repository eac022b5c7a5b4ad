use super::*;
use expect_test::expect;
use proptest::prelude::*;

fn delays() -> Table {
    let mut table = Table::new(["policy", "rate_per_s", "mean_ms"]);
    table.push(["a, \"b\"".into(), 10.0.into(), (1.0 / 3.0).into()]);
    table.push(["tofec".into(), 10_u64.into(), f64::NAN.into()]);
    table.push(["12".into(), 1e-9.into(), Some(25_001_234.0).into()]);
    table.push(["".into(), f64::INFINITY.into(), Cell::Missing]);
    table.push(["tofec".into(), 20_usize.into(), 2.5.into()]);
    table
}

#[test]
fn tables_are_written_as_csv() {
    expect![[r#"
        policy,rate_per_s,mean_ms
        "a, ""b""",10,0.333333
        tofec,10,
        "12",1e-9,25001234
        "",inf,
        tofec,20,2.5
    "#]]
    .assert_eq(&delays().to_csv());
}

#[test]
fn csv_is_read_with_either_line_end_and_blank_lines() {
    let text = "\u{feff}name,\"a\r\nb\"\r\n\r\nx,1\r\n\"y\",\n\"7\",2e3";
    let table = Table::from_csv(text).unwrap();
    assert_eq!(table.columns(), ["name", "a\r\nb"]);
    let expected: [[Cell; 2]; 3] =
        [["x".into(), 1.0.into()], ["y".into(), Cell::Missing], ["7".into(), 2000.0.into()]];
    assert_eq!(table.rows(), expected);
}

#[test]
fn wrong_csv_is_told_where_it_is_wrong() {
    let mut found = String::new();
    for text in
        ["", "\n\n", "a,\n", "a,b,a", "a\n1\n\"x", "a\n\"x\"y", "a,b\n\"1\n\",2\n3", "a\n1,2"]
    {
        found += &Table::from_csv(text).unwrap_err().to_string();
        found.push('\n');
    }
    expect![[r#"
        the table is empty
        the table is empty
        column 2 is named "": names must be there, and differ
        column 3 is named "a": names must be there, and differ
        line 3: a quoted cell does not end
        line 2: a quoted cell does not end
        line 4: 1 cells, the header has 2
        line 2: 2 cells, the header has 1
    "#]]
    .assert_eq(&found);
}

#[test]
fn series_are_grouped_by_a_column() {
    let table = delays();
    let series = table.series("policy", "rate_per_s", "mean_ms").unwrap();
    assert_eq!(series.len(), 4);
    assert_eq!(series[1], ("tofec".to_owned(), vec![(20.0, 2.5)]));
    let only = table.only("policy", "tofec").unwrap();
    assert_eq!(only.rows().len(), 2);
    assert_eq!(only.numbers("mean_ms").unwrap(), [2.5]);
    assert_eq!(table.only("mean_ms", 1.0 / 3.0).unwrap().rows().len(), 1);
}

#[test]
fn what_a_table_does_not_have_is_told() {
    let table = delays();
    let lacking = table.series("policy", "rate", "mean_ms").unwrap_err().to_string();
    assert_eq!(lacking, "no column \"rate\"; there are: policy, rate_per_s, mean_ms");
    let no_number = table.numbers("policy").unwrap_err().to_string();
    assert_eq!(no_number, "column \"policy\" has \"a, \\\"b\\\"\", which is not a number");
}

#[test]
#[should_panic(expected = "a row has a cell for each of")]
fn a_row_that_is_too_short_is_refused() {
    delays().push(["x".into()]);
}

#[test]
fn files_hold_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("delays.csv");
    delays().write(&path).unwrap();
    assert_eq!(Table::read(&path).unwrap(), delays());
    let missing = Table::read(folder.path().join("none")).unwrap_err();
    assert!(matches!(missing, TableError::File { .. }));
}

#[test]
fn under_a_single_column_an_empty_line_is_a_missing_cell() {
    let mut table = Table::new(["a_ms"]);
    table.push([1.0.into()]);
    table.push([Cell::Missing]);
    table.push([Cell::Missing]);
    assert_eq!(Table::from_csv(&table.to_csv()).unwrap(), table);
}

fn cell() -> impl Strategy<Value = Cell> {
    prop_oneof![
        any::<f64>().prop_map(Cell::from),
        any::<u64>().prop_map(Cell::from),
        (-1e3..1e3).prop_map(Cell::from),
        ".{0,8}".prop_map(Cell::from),
        "[0-9.,\"\r\n ei-]{0,4}".prop_map(Cell::from),
        Just(Cell::Missing),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(rows in prop::collection::vec(prop::array::uniform3(cell()), 0..8)) {
        let mut table = Table::new(["a", "b \"x\"\n", "7"]);
        for row in rows {
            table.push(row);
        }
        let csv = table.to_csv();
        let read = Table::from_csv(&csv).unwrap();
        prop_assert_eq!(read.to_csv(), csv);
        prop_assert_eq!(read, table);
    }
}
