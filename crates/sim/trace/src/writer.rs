use crate::Record;
use std::io::{self, Write};

/// Writes records as CSV that a [`Reader`](crate::Reader) reads back the same.
///
/// Keys are written as `#` and their hash.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
}

impl<W: Write> Writer<W> {
    /// Begins with the header. Writes in small pieces: give it a buffered output.
    pub fn new(mut output: W) -> io::Result<Self> {
        output.write_all(b"time_s,operation,bytes,key,tenant\n")?;
        Ok(Self { output })
    }

    /// Writes a record. A tenant whose name has a line feed in it is refused as
    /// [`InvalidInput`](io::ErrorKind::InvalidInput).
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        let tenant = record.tenant.as_deref().unwrap_or_default();
        if tenant.contains('\n') {
            let message = format!("a tenant's name has a line feed in it: {tenant:?}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let output = &mut self.output;
        let (seconds, nanos) = (record.time.as_secs(), record.time.subsec_nanos());
        let operation = record.operation.name();
        write!(output, "{seconds}.{nanos:09},{operation},{},", record.bytes)?;
        if let Some(key) = record.key {
            write!(output, "#{key:016x}")?;
        }
        if tenant.contains([',', '"', '\r']) {
            writeln!(output, ",\"{}\"", tenant.replace('"', "\"\""))
        } else {
            writeln!(output, ",{tenant}")
        }
    }

    /// Hands everything on and gives the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }
}
