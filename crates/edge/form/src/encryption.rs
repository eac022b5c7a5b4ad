//! The fields of what is recorded of an object's encryption, by their numbers: for ever.

use crate::{Fields, Found, Record, Unreadable};
use ripstop_object::{Encryption, EncryptionMethod, Unknown};

impl Record for Encryption {
    fn write(&self, to: &mut Fields) {
        to.number(1, method_number(self.method));
        to.text(2, &self.key);
        to.bytes(3, &self.wrapped);
        to.text(4, &self.context);
        to.truth(5, self.bucket_key);
        to.column(6, self.salts.iter().copied());
        to.unknown(&self.unknown);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.method = method(from)?,
            2 => self.key = from.text()?.into(),
            3 => self.wrapped = from.bytes()?.to_vec(),
            4 => self.context = from.text()?.into(),
            5 => self.bucket_key = from.truth()?,
            6 => self.salts = from.column()?.to_vec(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        Some(&mut self.unknown)
    }
}

const fn method_number(method: EncryptionMethod) -> u64 {
    match method {
        EncryptionMethod::Customer => 1,
        EncryptionMethod::Managed => 2,
        EncryptionMethod::Named => 3,
    }
}

fn method(from: &mut Found<'_>) -> Result<EncryptionMethod, Unreadable> {
    Ok(match from.number()? {
        1 => EncryptionMethod::Customer,
        2 => EncryptionMethod::Managed,
        3 => EncryptionMethod::Named,
        _ => return Err(from.wrong("is no method of encryption that is known")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{decode, encode};
    use ripstop_object::{Attributes, UploadedPart};

    #[test]
    fn encryption_goes_through_its_record_and_what_is_not_encrypted_has_none() {
        let encryption = Encryption {
            method: EncryptionMethod::Named,
            key: "reports".into(),
            wrapped: vec![1; 48],
            context: "e30=".into(),
            bucket_key: true,
            salts: vec![[1; 8], [2; 8]],
            ..Encryption::default()
        };
        let attributes =
            Attributes { encryption: Some(Box::new(encryption)), ..Attributes::default() };
        assert_eq!(decode(&encode(&attributes, Vec::new())), Ok(attributes));
        let part = UploadedPart { salt: Some([0; 8]), ..UploadedPart::default() };
        assert_eq!(decode(&encode(&part, Vec::new())), Ok(part));
        assert_eq!(encode(&Attributes::default(), Vec::new()), [0xbf, 0xff]);
    }

    #[test]
    fn the_bytes_of_a_record_never_change() {
        let encryption = Encryption {
            method: EncryptionMethod::Managed,
            key: "k".into(),
            wrapped: vec![9, 8],
            salts: vec![[7; 8]],
            ..Encryption::default()
        };
        let attributes =
            Attributes { encryption: Some(Box::new(encryption)), ..Attributes::default() };
        let expected: &[&[u8]] = &[
            &[0xbf, 15, 0xbf, 1, 2, 2, 0x61, b'k', 3, 0x42, 9, 8, 6, 0x48],
            &[7; 8],
            &[0xff, 0xff],
        ];
        assert_eq!(encode(&attributes, Vec::new()), expected.concat());
    }
}
