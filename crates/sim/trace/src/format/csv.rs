//! CSV with a header; one record a line, so that a quoted field cannot hold a line's end.

use super::{
    line::{Line, Request},
    text,
};
use crate::{BadLine, bad_line::begin, key_hash};
use ripstop_model::Operation;
use std::borrow::Cow;

/// How a time is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Clock {
    /// RFC 3339 or seconds since 1970.
    Moment,
    /// A decimal number of units of 10^`places` nanoseconds.
    Units { places: u32 },
}

/// Names of the columns that hold a time.
const CLOCKS: [(&str, Clock); 5] = [
    ("timestamp", Clock::Moment),
    ("time_s", Clock::Units { places: 9 }),
    ("time_ms", Clock::Units { places: 6 }),
    ("time_us", Clock::Units { places: 3 }),
    ("time_ns", Clock::Units { places: 0 }),
];

/// Where the columns are that count here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Columns {
    count: usize,
    clock: Clock,
    time: usize,
    operation: usize,
    bytes: usize,
    key: Option<usize>,
    tenant: Option<usize>,
    status: Option<usize>,
}

impl Columns {
    /// Whether a line is meant to be a header, if perhaps a wrong one.
    pub(super) fn meant(line: &str) -> bool {
        let line = line.to_ascii_lowercase();
        let known = CLOCKS.map(|(name, _)| name).into_iter().chain(["operation", "bytes"]);
        let is_known = |name: &str| known.clone().any(|known| known == name);
        line.split(',').any(|name| is_known(name.trim_matches(['"', ' ', '\t'])))
    }

    /// Reads a header; otherwise says what is wrong with it.
    pub(super) fn of(header: &str) -> Result<Self, String> {
        let fields = Fields::new(header).collect::<Result<Vec<_>, _>>();
        let fields = fields.map_err(|wrong| wrong.to_string())?;
        let names: Vec<String> =
            fields.iter().map(|name| name.trim_ascii().to_ascii_lowercase()).collect();
        let find = |wanted: &str| {
            let mut found = names.iter().enumerate().filter(|(_, name)| *name == wanted);
            let first = found.next().map(|(index, _)| index);
            match found.next() {
                Some(_) => Err(format!("names {wanted:?} twice")),
                None => Ok(first),
            }
        };
        let need = |wanted: &str| {
            find(wanted)?
                .ok_or_else(|| format!("has no column {wanted:?}, only {:?}", begin(header)))
        };
        let mut times = Vec::new();
        for (name, clock) in CLOCKS {
            times.extend(find(name)?.map(|index| (index, clock)));
        }
        let [(time, clock)] = times[..] else {
            let names = CLOCKS.map(|(name, _)| name).join(", ");
            return Err(format!("must have exactly one of {names}"));
        };
        Ok(Self {
            count: names.len(),
            clock,
            time,
            operation: need("operation")?,
            bytes: need("bytes")?,
            key: find("key")?,
            tenant: find("tenant")?,
            status: find("status")?,
        })
    }

    /// Reads a line below the header.
    pub(super) fn parse<'a>(&self, line: &'a str) -> Result<Line<'a>, BadLine> {
        let row = Row::of(self, line)?;
        let Some(operation) = operation(row.operation.trim_ascii())? else {
            return Ok(Line::Ignored);
        };
        if let Some(status) = row.status.as_ref().filter(|status| !status.is_empty()) {
            match text::whole("status", status.trim_ascii())? {
                400.. => return Ok(Line::Failed),
                300..400 => return Ok(Line::Ignored),
                _ => {}
            }
        }
        let time = row.time.trim_ascii();
        let time_ns = match self.clock {
            Clock::Moment => text::moment("timestamp", time)?,
            Clock::Units { places } => text::decimal(time, places)
                .ok_or_else(|| BadLine::field("time", time, "a decimal number"))?,
        };
        Ok(Line::Request(Request {
            time_ns,
            operation,
            bytes: text::whole("bytes", row.bytes.trim_ascii())?,
            key: row.key.filter(|key| !key.is_empty()).map(|key| key_of(&key)),
            tenant: row.tenant.filter(|tenant| !tenant.is_empty()),
        }))
    }
}

/// The fields of a line that count.
#[derive(Default)]
struct Row<'a> {
    time: Cow<'a, str>,
    operation: Cow<'a, str>,
    bytes: Cow<'a, str>,
    key: Option<Cow<'a, str>>,
    tenant: Option<Cow<'a, str>>,
    status: Option<Cow<'a, str>>,
}

impl<'a> Row<'a> {
    fn of(columns: &Columns, line: &'a str) -> Result<Self, BadLine> {
        let mut row = Self::default();
        let mut found = 0;
        for (index, field) in Fields::new(line).enumerate() {
            let (field, here) = (field?, Some(index));
            found += 1;
            if index == columns.time {
                row.time = field;
            } else if index == columns.operation {
                row.operation = field;
            } else if index == columns.bytes {
                row.bytes = field;
            } else if here == columns.key {
                row.key = Some(field);
            } else if here == columns.tenant {
                row.tenant = Some(field);
            } else if here == columns.status {
                row.status = Some(field);
            }
        }
        if found != columns.count {
            return Err(BadLine::Width { found, wanted: columns.count });
        }
        Ok(row)
    }
}

fn operation(name: &str) -> Result<Option<Operation>, BadLine> {
    let is = |names: &[&str]| names.iter().any(|other| name.eq_ignore_ascii_case(other));
    if is(&["read", "get", "r", "getobject"]) {
        Ok(Some(Operation::Read))
    } else if is(&["write", "put", "w", "putobject", "uploadpart"]) {
        Ok(Some(Operation::Write))
    } else if is(&["head", "list", "delete", "copy"]) {
        Ok(None)
    } else {
        Err(BadLine::field("operation", name, "read, get, write, put, head, list, delete or copy"))
    }
}

/// A key's hash; `#` and 16 hexadecimal digits are one already.
fn key_of(key: &str) -> u64 {
    let hash = key
        .strip_prefix('#')
        .filter(|digits| digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let hash = hash.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    hash.unwrap_or_else(|| key_hash(&[key.as_bytes()]))
}

/// The fields of a line, unquoted.
struct Fields<'a> {
    rest: Option<&'a str>,
}

impl<'a> Fields<'a> {
    fn new(line: &'a str) -> Self {
        Self { rest: Some(line) }
    }

    /// A field that begins with a quotation mark; `quoted` is what follows that.
    fn quoted(&mut self, quoted: &'a str) -> Result<Cow<'a, str>, BadLine> {
        let mut from = 0;
        loop {
            let Some(at) = quoted[from..].find('"').map(|at| from + at) else {
                return Err(BadLine::Quote);
            };
            match quoted.as_bytes().get(at + 1) {
                Some(b'"') => from = at + 2,
                Some(b',') | None => {
                    self.rest = quoted.get(at + 2..);
                    let field = &quoted[..at];
                    let plain = from == 0;
                    return Ok(if plain {
                        field.into()
                    } else {
                        field.replace("\"\"", "\"").into()
                    });
                }
                Some(_) => return Err(BadLine::Quote),
            }
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Cow<'a, str>, BadLine>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        if let Some(quoted) = rest.strip_prefix('"') {
            return Some(self.quoted(quoted));
        }
        let end = rest.as_bytes().iter().position(|byte| *byte == b',').unwrap_or(rest.len());
        self.rest = rest.get(end + 1..);
        Some(Ok(Cow::Borrowed(&rest[..end])))
    }
}
