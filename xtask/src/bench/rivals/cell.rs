use anyhow::{Context, Result, ensure};
use std::{fmt, str::FromStr};

/// What is measured where nothing else is asked for.
pub(super) const ALL: &str = "put-4k-16,get-4k-16,put-4k-64,get-4k-64,put-256k-16,get-256k-16,\
                              put-8m-8,get-8m-8";

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Operation {
    Put,
    Get,
}

/// One measurement: an operation on objects of one size, by clients that each have one request
/// open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cell {
    pub(super) operation: Operation,
    pub(super) bytes: u64,
    pub(super) clients: u32,
}

impl FromStr for Cell {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        let parse = || {
            let [operation, size, clients] = name.split('-').collect::<Vec<_>>().try_into().ok()?;
            let operation = match operation {
                "put" => Operation::Put,
                "get" => Operation::Get,
                _ => return None,
            };
            let (number, shift) = match size.as_bytes().last()? {
                b'k' => (&size[..size.len() - 1], 10),
                b'm' => (&size[..size.len() - 1], 20),
                _ => (size, 0),
            };
            let bytes = number.parse::<u64>().ok()?.checked_shl(shift)?;
            Some(Self { operation, bytes, clients: clients.parse().ok()? })
        };
        let cell = parse().with_context(|| format!("cell {name:?} is not like get-256k-16"))?;
        let bytes = 1..=32 << 20;
        ensure!(bytes.contains(&cell.bytes), "objects of cell {name:?} must have 1 to 32m bytes");
        ensure!((1..=1024).contains(&cell.clients), "cell {name:?} must have 1 to 1024 clients");
        Ok(cell)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Put => "PUT",
            Self::Get => "GET",
        })
    }
}

/// In words.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, unit) = match self.bytes {
            bytes if bytes % (1 << 20) == 0 => (bytes >> 20, "MiB"),
            bytes if bytes % (1 << 10) == 0 => (bytes >> 10, "KiB"),
            bytes => (bytes, "B"),
        };
        write!(f, "{} {number} {unit}, {} clients", self.operation, self.clients)
    }
}

/// The cells that are measured together, on the same objects: those of one size and number of
/// clients, puts first.
pub(super) fn groups(cells: &[Cell]) -> Vec<Vec<Cell>> {
    let mut groups: Vec<Vec<Cell>> = Vec::new();
    for &cell in cells {
        let same = |group: &&mut Vec<Cell>| {
            (group[0].bytes, group[0].clients) == (cell.bytes, cell.clients)
        };
        match groups.iter_mut().find(same) {
            Some(group) if group.contains(&cell) => {}
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    for group in &mut groups {
        group.sort_unstable_by_key(|cell| cell.operation);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_read_and_put_in_words() {
        let cell: Cell = "get-256k-16".parse().unwrap();
        assert_eq!(cell, Cell { operation: Operation::Get, bytes: 256 << 10, clients: 16 });
        assert_eq!(cell.to_string(), "GET 256 KiB, 16 clients");
        for bad in ["", "get-4k", "delete-4k-16", "get-4g-16", "get--16", "get-4k-0", "put-64m-8"] {
            assert!(bad.parse::<Cell>().is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn cells_on_the_same_objects_are_measured_together() {
        let cells = |names: &str| -> Vec<Cell> {
            names.split(',').map(|name| name.parse().unwrap()).collect()
        };
        let all = groups(&cells(ALL));
        assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2, 2]);
        let puts_first = groups(&cells("get-1m-8,put-1m-8,get-1m-8"));
        assert_eq!(puts_first, [cells("put-1m-8,get-1m-8")]);
    }
}
