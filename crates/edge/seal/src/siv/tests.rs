use super::*;
use aes_gcm_siv::{
    Aes256GcmSiv, Nonce,
    aead::{Aead as _, KeyInit as _, Payload},
};
use proptest::prelude::*;

struct Vector {
    key: &'static str,
    nonce: &'static str,
    context: &'static str,
    plain: &'static str,
    /// What is encrypted, then the tag.
    result: &'static str,
}

const ONE: &str = "0100000000000000000000000000000000000000000000000000000000000000";
const ZERO: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const THREE: &str = "030000000000000000000000";
const NONE: &str = "000000000000000000000000";

/// RFC 8452, appendices C.2 and C.3: some of each kind.
const VECTORS: [Vector; 14] = [
    Vector {
        key: ONE,
        nonce: THREE,
        context: "",
        plain: "",
        result: "07f5f4169bbf55a8400cd47ea6fd400f",
    },
    Vector {
        key: ONE,
        nonce: THREE,
        context: "",
        plain: "0100000000000000",
        result: "c2ef328e5c71c83b843122130f7364b761e0b97427e3df28",
    },
    Vector {
        key: ONE,
        nonce: THREE,
        context: "",
        plain: "01000000000000000000000000000000",
        result: "85a01b63025ba19b7fd3ddfc033b3e76c9eac6fa700942702e90862383c6c366",
    },
    Vector {
        key: ONE,
        nonce: THREE,
        context: "",
        plain: "01000000000000000000000000000000020000000000000000000000000000000300000000000000\
                000000000000000004000000000000000000000000000000",
        result: "c2d5160a1f8683834910acdafc41fbb1632d4a353e8b905ec9a5499ac34f96c7e1049eb080883891\
                 a4db8caaa1f99dd004d80487540735234e3744512c6f90ce112864c269fc0d9d88c61fa47e39aa08",
    },
    Vector {
        key: ONE,
        nonce: THREE,
        context: "01",
        plain: "0200000000000000",
        result: "1de22967237a813291213f267e3b452f02d01ae33e4ec854",
    },
    Vector {
        key: ONE,
        nonce: THREE,
        context: "01",
        plain: "02000000000000000000000000000000030000000000000000000000000000000400000000000000\
                000000000000000005000000000000000000000000000000",
        result: "67fd45e126bfb9a79930c43aad2d36967d3f0e4d217c1e551f59727870beefc98cb933a8fce9de88\
                 7b1e40799988db1fc3f91880ed405b2dd298318858467c895bde0285037c5de81e5b570a049b62a0",
    },
    Vector {
        key: ONE,
        nonce: THREE,
        context: "010000000000000000000000",
        plain: "02000000",
        result: "22b3f4cd1835e517741dfddccfa07fa4661b74cf",
    },
    Vector {
        key: ONE,
        nonce: THREE,
        context: "010000000000000000000000000000000200",
        plain: "0300000000000000000000000000000004000000",
        result: "43dd0163cdb48f9fe3212bf61b201976067f342bb879ad976d8242acc188ab59cabfe307",
    },
    Vector {
        key: "e66021d5eb8e4f4066d4adb9c33560e4f46e44bb3da0015c94f7088736864200",
        nonce: "e0eaf5284d884a0e77d31646",
        context: "",
        plain: "",
        result: "169fbb2fbf389a995f6390af22228a62",
    },
    Vector {
        key: "bae8e37fc83441b16034566b7a806c46bb91c3c5aedb64a6c590bc84d1a5e269",
        nonce: "e4b47801afc0577e34699b9e",
        context: "4fbdc66f14",
        plain: "671fdd",
        result: "0eaccb93da9bb81333aee0c785b240d319719d",
    },
    Vector {
        key: "b18853f68d833640e42a3c02c25b64869e146d7b233987bddfc240871d7576f7",
        nonce: "028ec6eb5ea7e298342a94d4",
        context: "9c2159058b1f0fe91433a5bdc20e214eab7fecef4454a10ef0657df21ac7",
        plain: "b202b370ef9768ec6561c4fe6b7e7296fa85",
        result: "857e16a64915a787637687db4a9519635cdd454fc2a154fea91f8363a39fec7d0a49",
    },
    Vector {
        key: "3c535de192eaed3822a2fbbe2ca9dfc88255e14a661b8aa82cc54236093bbc23",
        nonce: "688089e55540db1872504e1c",
        context: "734320ccc9d9bbbb19cb81b2af4ecbc3e72834321f7aa0f70b7282b4f33df23f167541",
        plain: "ced532ce4159b035277d4dfbb7db62968b13cd4eec",
        result: "626660c26ea6612fb17ad91e8e767639edd6c9faee9d6c7029675b89eaf4ba1ded1a286594",
    },
    // The counter wraps around.
    Vector {
        key: ZERO,
        nonce: NONE,
        context: "",
        plain: "000000000000000000000000000000004db923dc793ee6497c76dcc03a98e108",
        result: "f3f80f2cf0cb2dd9c5984fcda908456cc537703b5ba70324a6793a7bf218d3ea\
                 ffffffff000000000000000000000000",
    },
    Vector {
        key: ZERO,
        nonce: NONE,
        context: "",
        plain: "eb3640277c7ffd1303c7a542d02d3e4c0000000000000000",
        result: "18ce4f0b8cb4d0cac65fea8f79257b20888e53e72299e56dffffffff000000000000000000000000",
    },
];

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

/// What is encrypted, then the tag.
fn sealed(siv: &Siv, context: &[u8], plain: &[u8]) -> Vec<u8> {
    let mut result = plain.to_vec();
    let tag = siv.tag(context, [plain]);
    siv.mix(&tag, &mut result);
    result.extend(tag);
    result
}

#[test]
fn every_kernel_gives_the_vectors_of_the_rfc() {
    for vector in VECTORS {
        let key = bytes(vector.key).try_into().unwrap();
        let nonce = bytes(vector.nonce).try_into().unwrap();
        for kernel in Kernel::available() {
            let siv = Siv::new(&key, nonce, kernel);
            let found = sealed(&siv, &bytes(vector.context), &bytes(vector.plain));
            assert_eq!(hex::encode(found), vector.result, "{kernel}");
        }
    }
}

#[test]
fn key_streams_of_every_length_are_right() {
    let (key, nonce) = ([0x5a; 32], *b"twelve bytes");
    let oracle = Aes256GcmSiv::new(&key.into());
    for len in (0..=1100).chain([4095, 4096, 65_536, 65_537]) {
        let plain = vec![len as u8; len];
        let expected = oracle.encrypt(&Nonce::from(nonce), &*plain).unwrap();
        for kernel in Kernel::available() {
            let found = sealed(&Siv::new(&key, nonce, kernel), &[], &plain);
            assert!(found == expected, "{kernel}: {len} bytes");
        }
    }
}

proptest! {
    #[test]
    fn it_is_what_another_implementation_makes(
        key: [u8; 32],
        nonce: [u8; 12],
        context in prop::collection::vec(any::<u8>(), 0..100),
        plain in prop::collection::vec(any::<u8>(), 0..5000),
    ) {
        let payload = Payload { msg: &plain, aad: &context };
        let oracle = Aes256GcmSiv::new(&key.into());
        let expected = oracle.encrypt(&Nonce::from(nonce), payload).unwrap();
        for kernel in Kernel::available() {
            let found = sealed(&Siv::new(&key, nonce, kernel), &context, &plain);
            prop_assert!(found == expected, "{}", kernel);
        }
    }

    #[test]
    fn how_bytes_are_cut_makes_no_difference(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20),
        context in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        for kernel in Kernel::available() {
            let siv = Siv::new(&[3; 32], [4; 12], kernel);
            prop_assert_eq!(siv.tag(&context, &pieces), siv.tag(&context, [pieces.concat()]));
        }
    }
}
