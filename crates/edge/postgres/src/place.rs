//! Keys of tables that are made of several names.

use ripstop_catalog::{CatalogError, Leftover, object_key, split_object_key};
use ripstop_model::{NodeId, StripeId};
use ripstop_object::{Place, versions_begin};

/// Bytes of a stripe's name.
const STRIPE_LEN: usize = size_of::<u128>();
/// What ends a key before what comes behind it, and what stands for a zero byte of the key.
const END: &str = "\0\0";
const ZERO: &str = "\0\u{1}";

/// Above every name, which is UTF-8, and every session.
pub(crate) const LAST: &[u8] = &[0xff; STRIPE_LEN + 1];

fn corrupt(reason: &str) -> CatalogError {
    CatalogError::Corrupt { reason: reason.into() }
}

/// The key of a place in the tables of objects and tombstones.
pub(crate) fn key_of(at: &Place<'_>) -> Vec<u8> {
    object_key(&at.bucket, at.key.as_bytes())
}

/// The place of such a key.
pub(crate) fn place_of(key: &[u8]) -> Result<Place<'static>, CatalogError> {
    let (bucket, key) = split_object_key(key)?;
    Ok(Place { bucket: bucket.into(), key: key.into() })
}

/// A stripe.
pub(crate) fn stripe_key(id: StripeId) -> Vec<u8> {
    id.0.to_be_bytes().to_vec()
}

/// The stripe of such a key, or at the beginning of a longer one, and what comes behind it.
pub(crate) fn split_stripe(key: &[u8]) -> Result<(StripeId, &[u8]), CatalogError> {
    let split = key.split_first_chunk::<STRIPE_LEN>();
    let (id, rest) = split.ok_or_else(|| corrupt("a stripe's name is short"))?;
    Ok((StripeId(u128::from_be_bytes(*id)), rest))
}

/// A copy of a fragment.
pub(crate) fn leftover_key(copy: &Leftover) -> Vec<u8> {
    let node = copy.node.0.to_be_bytes();
    [&copy.stripe.0.to_be_bytes()[..], &[copy.index], &node].concat()
}

/// The copy of such a key.
pub(crate) fn leftover_of(key: &[u8]) -> Result<Leftover, CatalogError> {
    let (stripe, rest) = split_stripe(key)?;
    let &[index, high, low] = rest else { return Err(corrupt("a leftover's key is short")) };
    Ok(Leftover { stripe, index, node: NodeId(u16::from_be_bytes([high, low])) })
}

/// A part of an upload.
pub(crate) fn part_key(upload: &str, number: u16) -> Vec<u8> {
    object_key(upload, &number.to_be_bytes())
}

/// Upload and number of such a key.
pub(crate) fn split_part(key: &[u8]) -> Result<(String, u16), CatalogError> {
    let split = key.split_last_chunk::<2>();
    let (begin, number) = split.ok_or_else(|| corrupt("a part's key is short"))?;
    let (upload, rest) = split_object_key(begin)?;
    if !rest.is_empty() {
        return Err(corrupt("a part's key is long"));
    }
    Ok((upload, u16::from_be_bytes(*number)))
}

/// What a stripe tells of a place; they sort by bucket, then by key.
pub(crate) fn outlived_key(stripe: StripeId, at: &Place<'_>) -> Vec<u8> {
    let bucket = versions_begin(&at.bucket);
    [&stripe_key(stripe), bucket.as_bytes(), at.key.as_bytes()].concat()
}

/// The stripe and the place of such a key.
pub(crate) fn split_outlived(key: &[u8]) -> Result<(StripeId, Place<'static>), CatalogError> {
    let (stripe, place) = split_stripe(key)?;
    let place = str::from_utf8(place).map_err(|_| corrupt("a name is not UTF-8"))?;
    let split = place.split_once(END);
    let (bucket, key) = split.ok_or_else(|| corrupt("what is outlived has no bucket"))?;
    let bucket = bucket.replace(ZERO, "\0").into();
    Ok((stripe, Place { bucket, key: key.to_owned().into() }))
}

/// What stripes tell of a place begins with this; the stripe follows.
pub(crate) fn outlived_at_begin(at: &Place<'_>) -> Vec<u8> {
    object_key(&at.bucket, versions_begin(&at.key).as_bytes())
}

/// The same of one stripe.
pub(crate) fn outlived_at_key(at: &Place<'_>, stripe: StripeId) -> Vec<u8> {
    [outlived_at_begin(at), stripe_key(stripe)].concat()
}

/// The stripe at the end of such a key.
pub(crate) fn last_stripe(key: &[u8]) -> Result<StripeId, CatalogError> {
    let at = key.len().saturating_sub(STRIPE_LEN);
    Ok(split_stripe(&key[at..])?.0)
}

/// Where an upload will write.
pub(crate) fn upload_place(at: &Place<'_>, id: &str) -> Vec<u8> {
    object_key(&at.bucket, [&versions_begin(&at.key), id].concat().as_bytes())
}

/// Key and id of what such a place is called within its bucket.
pub(crate) fn split_upload(name: &str) -> Result<(String, String), CatalogError> {
    let split = name.split_once(END);
    let (key, id) = split.ok_or_else(|| corrupt("an upload's place has no end"))?;
    Ok((key.replace(ZERO, "\0"), id.to_owned()))
}

/// The least bytes above all that begin with these; [`LAST`] if there are none.
pub(crate) fn beyond(begin: &[u8]) -> Vec<u8> {
    let mut end = begin.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    LAST.to_vec()
}

/// A number of a session, the highest byte first.
pub(crate) fn session_of(key: &[u8]) -> Result<ripstop_object::Session, CatalogError> {
    let number = key.try_into().map_err(|_| corrupt("a session's number is short"))?;
    Ok(ripstop_object::Session(u32::from_be_bytes(number)))
}

pub(crate) fn gateway_of(key: &[u8]) -> Result<ripstop_object::GatewayId, CatalogError> {
    let number = key.try_into().map_err(|_| corrupt("a gateway's number is short"))?;
    Ok(ripstop_object::GatewayId(u64::from_be_bytes(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_with_bytes_ends_before_what_is_beyond_them() {
        assert_eq!(beyond(b"a"), b"b");
        assert_eq!(beyond(b"a\xff\xff"), b"b");
        assert_eq!(beyond(b"\xff"), LAST);
        assert_eq!(beyond(b""), LAST);
        assert!([0xff; STRIPE_LEN].as_slice() < LAST);
    }

    #[test]
    fn places_of_uploads_sort_by_key_and_id_and_can_be_split() {
        let keys = ["", "a", "a\0", "a\0\0", "a\0\u{1}", "a\u{1}", "aa", "b"];
        let mut places = Vec::new();
        for key in keys {
            for id in ["1", "2"] {
                let at = upload_place(&Place::new("b", key), id);
                let (bucket, name) = split_object_key(&at).unwrap();
                assert_eq!(bucket, "b");
                assert_eq!(split_upload(&name).unwrap(), (key.to_owned(), id.to_owned()));
                places.push(at);
            }
        }
        assert!(places.is_sorted());
    }

    #[test]
    fn what_is_outlived_sorts_by_bucket_then_key_and_can_be_split() {
        let mut keys = Vec::new();
        for bucket in ["a", "a\0", "aa", "b"] {
            for key in ["", "\0", "\0\0", "x"] {
                let place = Place::new(bucket, key);
                keys.push(outlived_key(StripeId(7), &place));
                let split = split_outlived(keys.last().unwrap()).unwrap();
                assert_eq!(split, (StripeId(7), place));
            }
        }
        assert!(keys.is_sorted());
    }

    #[test]
    fn a_part_is_its_key() {
        let key = part_key("upload", 515);
        assert_eq!(split_part(&key).unwrap(), ("upload".to_owned(), 515));
        assert!(split_part(&key[..3]).is_err());
        assert!(split_part(&[key.as_slice(), b"x"].concat()).is_err());
    }

    #[test]
    fn a_leftover_is_its_key() {
        let copy = Leftover { stripe: StripeId(7), index: 3, node: NodeId(258) };
        assert_eq!(leftover_of(&leftover_key(&copy)).unwrap(), copy);
        assert!(leftover_of(&stripe_key(StripeId(7))).is_err());
    }
}
