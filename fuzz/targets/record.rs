//! What the catalog and fragments' headers keep of objects.
#![no_main]

use ripstop_catalog::{Bucket, Object, Stripe, Upload, UploadedPart};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(object) = postcard::from_bytes::<Object>(bytes) {
        let again = postcard::to_stdvec(&object).expect("records are plain data");
        assert_eq!(postcard::from_bytes::<Object>(&again).as_ref(), Ok(&object));
    }
    let _ = postcard::from_bytes::<Bucket>(bytes);
    let _ = postcard::from_bytes::<Stripe>(bytes);
    let _ = postcard::from_bytes::<Upload>(bytes);
    let _ = postcard::from_bytes::<UploadedPart>(bytes);
});
