use super::*;
use crate::request::{Get, StatsOf};
use proptest::prelude::*;

const ITEM_MAX: usize = 4096;

/// Everything that comes of these pieces: requests, and whether the reader has given up.
fn read(pieces: &[&[u8]], users: Option<&str>) -> (Vec<Request>, Option<&'static str>) {
    let users = users.map(|text| KvUsers::parse(text).unwrap());
    let mut reader = Reader::new(ITEM_MAX, users);
    let (mut inbox, mut requests) = (BytesMut::new(), Vec::new());
    for piece in pieces {
        inbox.extend_from_slice(piece);
        loop {
            match reader.next(&mut inbox) {
                Parsed::Request(request) => requests.push(request),
                Parsed::More(need) => {
                    assert!(need > inbox.len(), "there is that much already");
                    break;
                }
                Parsed::Close(line) => return (requests, Some(line)),
            }
        }
    }
    (requests, None)
}

/// Commands of every kind, and much that is none.
const TALK: &[u8] = b"get a\r\nset k 1 0 5\r\nab\r\nc\r\n\r\nset k 0 0 5000\r\n";
const MORE: &[u8] = b"\r\nmg k v t Oxyz\r\nms k 3 T30 c\r\nxyz\r\nms k 3 Z\r\nxyz\r\n\
    cas k 1 2 3 4 noreply\r\n123\r\nset k 0 0 3\r\n1234\r\nincr k 5\r\n\n\r\n \r\nbogus\r\n\
    set k 0 0 -1\r\nmn\r\nma Zm9v b MD D3 J5 N0\r\nmd k q\r\nme k\r\nflush_all 5 noreply\r\n\
    stats items\r\nquit\r\n";

fn talk() -> Vec<u8> {
    [TALK, &[b'x'; 5000], MORE].concat()
}

#[test]
fn requests_are_the_same_wherever_the_bytes_are_cut() {
    let talk = talk();
    let (whole, end) = read(&[&talk], None);
    assert_eq!((whole.len(), end), (23, None));
    let each: Vec<&[u8]> = talk.chunks(1).collect();
    assert_eq!(read(&each, None).0, whole);
    for cut in 0..talk.len() {
        let (first, last) = talk.split_at(cut);
        assert_eq!(read(&[first, last], None).0, whole, "cut at {cut}");
    }
}

#[test]
fn values_are_cut_out_whatever_is_in_them() {
    let (requests, _) = read(&[b"set k 7 -1 6 noreply\r\n\r\nget \r\nget k\r\n"], None);
    let Command::Store(store) = &requests[0].command else { panic!("{requests:?}") };
    assert_eq!((&store.key[..], &store.value[..]), (&b"k"[..], &b"\r\nget "[..]));
    assert_eq!((store.flags, store.exptime, requests[0].is_quiet), (7, -1, true));
    let get = Get { keys: vec![Bytes::from_static(b"k")], with_cas: false, touch: None };
    assert_eq!(requests[1].command, Command::Get(get));
}

#[test]
fn a_value_without_an_end_is_refused_and_what_follows_is_read() {
    let (requests, _) = read(&[b"set k 0 0 3\r\nabcde\r\nstats\r\n"], None);
    assert_eq!(requests[0], Request::say("CLIENT_ERROR bad data chunk"));
    // What was left of it: a line that is no command.
    assert_eq!(requests[1], Request::say("ERROR"));
    assert_eq!(requests[2].command, Command::Stats(StatsOf::All));
}

#[test]
fn a_line_has_a_bound_and_one_of_keys_a_larger_one() {
    let long = [&b"set "[..], &[b'k'; LINE_LEN_MAX]].concat();
    assert_eq!(read(&[&long], None), (Vec::new(), Some("CLIENT_ERROR line too long")));
    let keys = [&b"gets"[..], &b" key".repeat(1000), b"\r\n"].concat();
    let (requests, end) = read(&[&keys], None);
    let Command::Get(get) = &requests[0].command else { panic!("{requests:?}") };
    assert_eq!((get.keys.len(), get.with_cas, end), (1000, true, None));
    let many = b"get ".repeat(KEYS_LINE_LEN_MAX / 4 + 1);
    assert_eq!(read(&[&many], None).1, Some("CLIENT_ERROR line too long"));
}

#[test]
fn who_speaks_another_protocol_is_left() {
    assert_eq!(read(&[b"\x80\x0a\0\0\0\0"], None).1, Some(""));
    assert_eq!(read(&[b"GET / HTTP/1.1\r\n"], None), (Vec::new(), Some("")));
    // Only at first: later it is a word like others.
    assert_eq!(read(&[b"mn\r\n\x80\x0a\r\n"], None).1, None);
}

#[test]
fn nothing_is_done_for_who_has_not_said_who_they_are() {
    let users = Some("ann:secret\nbob:other\n");
    let enter = |is_known| Request { command: Command::Enter { is_known }, is_quiet: false };
    let strange = Request::say("CLIENT_ERROR unauthenticated");
    let (requests, _) = read(&[b"get a\r\nset a 0 0 3\r\nabc\r\n"], users);
    // The value is a name without a password.
    let format = Request::say("CLIENT_ERROR bad authentication token format");
    assert_eq!(requests, [strange.clone(), format]);
    let (requests, _) = read(&[b"set a 0 0 9\r\nann other\r\nget a\r\n"], users);
    assert_eq!(requests, [enter(false), strange]);
    let talk = b"set a 0 0 10\r\nann secret\r\nget a\r\n";
    let (requests, _) = read(&[talk], users);
    assert_eq!((&requests[0], requests.len()), (&enter(true), 2));
    for cut in 0..talk.len() {
        let (first, last) = talk.split_at(cut);
        assert_eq!(read(&[first, last], users).0, requests, "cut at {cut}");
    }
}

#[test]
fn a_value_for_which_there_is_no_memory_is_passed_over() {
    let mut reader = Reader::new(ITEM_MAX, None);
    let mut inbox = BytesMut::from(&b"set k 0 0 100\r\n1234567890"[..]);
    assert_eq!(reader.next(&mut inbox), Parsed::More(102));
    let refused = Request::say("SERVER_ERROR out of memory storing object");
    assert_eq!(reader.refuse(inbox.len()), Some(refused));
    inbox.clear();
    inbox.extend_from_slice(&[b'x'; 92]);
    assert_eq!(reader.next(&mut inbox), Parsed::More(1));
    inbox.extend_from_slice(b"mn\r\n");
    let end = Request { command: Command::MetaEnd, is_quiet: false };
    assert_eq!(reader.next(&mut inbox), Parsed::Request(end));
    assert_eq!(reader.refuse(0), None);
}

proptest! {
    #[test]
    fn any_bytes_are_read_alike_in_any_pieces(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "get", "set", "ms", "mg", "cas", "gat", "k", "0", "5", "-1", "noreply", "b", "q",
                "Oab", "T5", "\r\n", "\r\n", "\n", "abcde", " ", "\0", "\x7f", "MA", "flush_all",
            ]),
            0..120,
        ),
        cuts in prop::collection::vec(0..600_usize, 0..8),
    ) {
        let talk = words.join(" ").into_bytes();
        let whole = read(&[&talk], None);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(talk.len())).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&talk[from..cut]);
            from = cut;
        }
        pieces.push(&talk[from..]);
        prop_assert_eq!(read(&pieces, None), whole);
    }
}
