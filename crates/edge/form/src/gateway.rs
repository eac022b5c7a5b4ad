//! What a gateway told of itself. Claims are columns: of each its name, what is wanted, what is
//! taken.

use crate::{Fields, Found, Record, Unreadable, paired};
use ripstop_object::{GatewayClaim, GatewayRecord, Session, Unknown};

impl Record for GatewayRecord {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.epoch);
        to.number(2, self.beat);
        to.number(3, self.beat_ms);
        to.number(4, self.session.0.into());
        to.text(5, &self.address);
        to.text(6, &self.version);
        to.truth(7, self.has_left);
        to.blobs(8, self.claims.iter().map(|claim| Some(claim.of.as_bytes())));
        to.column(9, self.claims.iter().map(|claim| claim.wanted.to_be_bytes()));
        to.column(10, self.claims.iter().map(|claim| claim.taken.to_be_bytes()));
        to.unknown(&self.unknown);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.epoch = from.number()?,
            2 => self.beat = from.number()?,
            3 => self.beat_ms = from.number()?,
            4 => self.session = Session(from.small()?),
            5 => self.address = from.text()?.into(),
            6 => self.version = from.text()?.into(),
            7 => self.has_left = from.truth()?,
            8 => {
                for name in from.blobs()? {
                    let name = name.and_then(|name| String::from_utf8(name).ok());
                    let of = name.ok_or_else(|| from.wrong("has a claim without a name"))?;
                    self.claims.push(GatewayClaim { of, ..GatewayClaim::default() });
                }
            }
            9 => {
                for (claim, wanted) in paired(&mut self.claims, from.column()?, from)? {
                    claim.wanted = u64::from_be_bytes(*wanted);
                }
            }
            10 => {
                for (claim, taken) in paired(&mut self.claims, from.column()?, from)? {
                    claim.taken = u64::from_be_bytes(*taken);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        Some(&mut self.unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{decode, encode};

    fn claim(of: &str, wanted: u64, taken: u64) -> GatewayClaim {
        GatewayClaim { of: of.into(), wanted, taken }
    }

    #[test]
    fn a_gateway_is_read_as_it_was_written() {
        let whole = GatewayRecord {
            epoch: 3,
            beat: 1 << 40,
            beat_ms: 1_700_000_000_000,
            session: Session(77),
            address: "10.0.0.1:9000".into(),
            version: "0.9.0".into(),
            has_left: true,
            claims: vec![claim("lanes 0", 0, u64::MAX), claim("photos", 12, 0)],
            unknown: Unknown::default(),
        };
        for gateway in [GatewayRecord::default(), whole] {
            assert_eq!(decode(&encode(&gateway, vec![])), Ok(gateway));
        }
    }

    #[test]
    fn columns_of_different_lengths_are_refused() {
        let bytes = crate::compose(vec![], |to| {
            to.blobs(8, [Some(b"a".as_slice()), Some(b"b")].into_iter());
            to.column(9, [[0; 8]].into_iter());
        });
        assert!(decode::<GatewayRecord>(&bytes).is_err());
    }
}
