//! What strangers' bytes are given to first, for the fuzzer in `fuzz/` and for the laws below:
//! nothing panics, what is read does not depend on where the bytes are cut, and nobody does
//! anything before they have said who they are.

use crate::{
    admission::KvUsers,
    reader::{Parsed, Reader},
    request::{Command, Request},
};
use bytes::BytesMut;

/// Longest item that is taken.
const ITEM_MAX: usize = 4096;
/// Who may come in.
const USERS: &str = "ann:a-secret-that-nobody-guesses\n";

/// A connection's bytes. The first says how long the pieces are in which the others come, and
/// whether one has to say who one is.
pub fn talk(bytes: &[u8]) {
    let Some((&how, talk)) = bytes.split_first() else { return };
    let is_closed = how & 1 == 1;
    let whole = read(talk, talk.len().max(1), is_closed);
    assert_eq!(read(talk, usize::from(how / 2).max(1), is_closed), whole, "read in other pieces");
    let is_said = |request: &Request| matches!(request.command, Command::Say(_));
    let is_entry =
        |request: &Request| matches!(request.command, Command::Enter { is_known: false });
    assert!(
        !is_closed || whole.0.iter().all(|request| is_said(request) || is_entry(request)),
        "somebody came in without the secret"
    );
}

/// Everything that comes of these bytes, and what is said if nothing more is read of them.
fn read(talk: &[u8], each: usize, is_closed: bool) -> (Vec<Request>, Option<&'static str>) {
    let users = is_closed.then(|| KvUsers::parse(USERS).expect("a name and a password"));
    let mut reader = Reader::new(ITEM_MAX, users);
    let (mut inbox, mut requests) = (BytesMut::new(), Vec::new());
    for piece in talk.chunks(each) {
        inbox.extend_from_slice(piece);
        loop {
            let had = inbox.len();
            match reader.next(&mut inbox) {
                Parsed::Request(request) => requests.push(request),
                Parsed::More(need) => {
                    assert!(need > inbox.len(), "there is that much already");
                    break;
                }
                Parsed::Close(line) => return (requests, Some(line)),
            }
            assert!(inbox.len() < had, "a request of no bytes");
        }
    }
    (requests, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TALK: &[u8] = b"\x0aset k 1 0 5\r\nab\r\nc\r\nget k k2\r\nms k 3 T30 c\r\nxyz\r\n\
        mg k v t Oxyz\r\ncas k 1 2 3 4 noreply\r\n123\r\nma Zm9v b MD D3 J5 N0\r\nmd k q\r\nme k\r\n\
        gat 30 k\r\nincr k 5\r\ntouch k -1\r\nset k 0 0 5000\r\nverbosity 1\r\nflush_all 5\r\nmn\r\n";
    const ENTRY: &[u8] = b"\x0bset a 0 0 10\r\nann secret\r\nget a\r\nset a 0 0 30\r\nann a-secret";

    /// A valid talk with some of its bytes changed, and bytes of no meaning.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let valid = prop_oneof![Just(TALK), Just(ENTRY)];
        let near = (valid, prop::collection::vec((any::<usize>(), any::<u8>()), 0..6), any::<u8>());
        let near = near.prop_map(|(valid, changes, how)| {
            let mut bytes = valid.to_vec();
            for (at, byte) in changes {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            bytes[0] = how;
            bytes
        });
        prop_oneof![4 => near, 1 => prop::collection::vec(any::<u8>(), 0..600)]
    }

    proptest! {
        #[test]
        fn no_talk_panics_depends_on_its_pieces_or_comes_in(bytes in bytes()) {
            talk(&bytes);
        }
    }
}
