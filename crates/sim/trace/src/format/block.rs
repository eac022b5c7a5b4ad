//! Traces of block devices, in two forms.

use super::{
    line::{Line, Request},
    text,
};
use crate::{BadLine, key_hash};
use ripstop_model::Operation;
use std::borrow::Cow;

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// The Storage Performance Council's form: `ASU,LBA,bytes,opcode,seconds`; further fields are
/// allowed. The tenant is the ASU (application storage unit), the key ASU and LBA.
pub(super) fn parse_spc(line: &str) -> Result<Line<'_>, BadLine> {
    let mut fields = line.split(',').map(str::trim_ascii);
    let mut next = |field| fields.next().ok_or(BadLine::Missing { field });
    let (unit, block, bytes, opcode) = (next("ASU")?, next("LBA")?, next("size")?, next("opcode")?);
    let time = next("timestamp")?;
    let operation = match opcode {
        "r" | "R" => Operation::Read,
        "w" | "W" => Operation::Write,
        _ => return Err(BadLine::field("opcode", opcode, "R or W")),
    };
    let time_ns = text::seconds("timestamp", time)?;
    request(time_ns, operation, text::whole("size", bytes)?, unit, block)
}

/// The form of disk simulators: `nanoseconds device LBA sectors type`, divided by blanks; type 1 is
/// a read, type 0 a write. The tenant is the device, the key device and LBA.
pub(super) fn parse_sectors(line: &str) -> Result<Line<'_>, BadLine> {
    let mut fields = line.split_ascii_whitespace();
    let mut next = |field| fields.next().ok_or(BadLine::Missing { field });
    let (time, unit, block, sectors) =
        (next("time")?, next("device")?, next("LBA")?, next("sectors")?);
    let kind = next("type")?;
    let operation = match kind {
        "1" => Operation::Read,
        "0" => Operation::Write,
        _ => return Err(BadLine::field("type", kind, "1 (read) or 0 (write)")),
    };
    let time_ns = text::decimal(time, 0).filter(|_| !time.contains('.'));
    let time_ns = time_ns.ok_or_else(|| BadLine::field("time", time, "nanoseconds"))?;
    let bytes = text::whole("sectors", sectors)?.checked_mul(SECTOR);
    let bytes = bytes.ok_or_else(|| BadLine::field("sectors", sectors, "possible"))?;
    request(time_ns, operation, bytes, unit, block)
}

fn request<'a>(
    time_ns: u64,
    operation: Operation,
    bytes: u64,
    unit: &'a str,
    block: &str,
) -> Result<Line<'a>, BadLine> {
    text::whole("device", unit)?;
    text::whole("LBA", block)?;
    let key = Some(key_hash(&[unit.as_bytes(), block.as_bytes()]));
    Ok(Line::Request(Request { time_ns, operation, bytes, key, tenant: Some(Cow::Borrowed(unit)) }))
}
