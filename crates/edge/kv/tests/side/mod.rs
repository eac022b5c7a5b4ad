//! Both servers, and what they say.

use crate::script::{Piece, Script};
use ripstop_kv::{KvDoor, KvSettings, Shelf};
use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// What follows commands: whatever is left of them ends here, and then this is answered.
const ENDING: &[u8] = b"\r\n\r\n\r\nmn\r\n";
const END: &[u8] = b"ERROR\r\nMN\r\n";
/// How long items live, where a command says so.
const SPANS: [i64; 7] = [7, 100, 1000, 100_000, 2_592_000, 500, 2000];

/// A door over a shelf, for as long as the process runs.
pub(crate) fn door<S: Shelf>(shelf: impl FnOnce() -> S + Send + 'static) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let door = KvDoor::new(shelf(), KvSettings::default());
            door.serve(listener, CancellationToken::new()).await;
        });
    });
    at
}

/// A server, and the versions that it named.
struct Side {
    stream: TcpStream,
    versions: Vec<String>,
    /// What it says of items that were fetched is compared.
    tells_fetched: bool,
}

/// memcached, and the door.
pub(crate) struct Sides([Side; 2]);

impl Sides {
    pub(crate) fn connect(memcached: SocketAddr, door: SocketAddr, tells_fetched: bool) -> Self {
        Self([memcached, door].map(|at| {
            let stream = TcpStream::connect(at).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            Side { stream, versions: Vec::new(), tells_fetched }
        }))
    }

    /// Versions that were seen.
    pub(crate) fn versions(&self) -> usize {
        self.0[0].versions.len()
    }

    pub(crate) fn ask(&mut self, script: &Script) -> [String; 2] {
        self.0.each_mut().map(|side| side.ask(script))
    }

    /// What both answer; or how they differ.
    pub(crate) fn compare(&mut self, script: &Script) -> Result<String, String> {
        let [theirs, ours] = self.ask(script);
        if theirs == ours {
            return Ok(ours);
        }
        Err(format!("they  {theirs:?}\nwe    {ours:?}"))
    }
}

/// A script, as people can read it.
pub(crate) fn shown(script: &Script) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Bytes(bytes) => bytes.escape_ascii().to_string(),
        Piece::Version(number) => format!("#{number}"),
    };
    script.iter().map(piece).collect()
}

impl Side {
    fn ask(&mut self, script: &Script) -> String {
        let mut sent = Vec::new();
        for piece in script {
            match piece {
                Piece::Bytes(bytes) => sent.extend_from_slice(bytes),
                Piece::Version(number) => sent.extend_from_slice(self.versions[*number].as_bytes()),
            }
        }
        sent.extend_from_slice(ENDING);
        self.stream.write_all(&sent).unwrap();
        let mut got = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        while !got.ends_with(END) {
            match self.stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(len) => got.extend_from_slice(&buffer[..len]),
                Err(error) => {
                    let (sent, got) = (sent.escape_ascii(), got.escape_ascii());
                    panic!("{error}: sent {sent}, and got {got}");
                }
            }
        }
        let text: String = got.iter().map(|&byte| char::from(byte)).collect();
        text.split_inclusive("\r\n").map(|line| self.plain(line)).collect()
    }

    /// A line with what differs by nature replaced.
    fn plain(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.trim_end_matches("\r\n").split(' ').collect();
        let is_meta = matches!(words[0], "VA" | "HD" | "NS" | "EX" | "NF" | "EN" | "ME");
        let plain: Vec<String> = words
            .iter()
            .enumerate()
            .map(|(at, word)| match (words[0], at) {
                ("VALUE", 4) => self.version(word),
                _ if !is_meta || at == 0 => (*word).to_owned(),
                _ => self.flag(word),
            })
            .collect();
        let ending = if line.ends_with("\r\n") { "\r\n" } else { "" };
        plain.join(" ") + ending
    }

    /// A flag of a meta answer.
    fn flag(&mut self, word: &str) -> String {
        let named = |name: &str| word.strip_prefix(name).filter(|rest| is_number(rest));
        if let Some(version) = named("c").or_else(|| named("cas=")) {
            return self.version(version);
        }
        if let Some(left) = named("t").or_else(|| named("exp=")) {
            return format!("t{}", span(left));
        }
        let fetched = word.starts_with("fetch=") || matches!(word, "h0" | "h1");
        if fetched && !self.tells_fetched {
            return "h".to_owned();
        }
        // Both count whole seconds, which begin at other times.
        if named("la=").is_some() {
            return "la".to_owned();
        }
        word.to_owned()
    }

    fn version(&mut self, version: &str) -> String {
        if version == "0" {
            return "c0".to_owned();
        }
        let known = self.versions.iter().position(|known| known == version);
        let number = known.unwrap_or_else(|| {
            self.versions.push(version.to_owned());
            self.versions.len() - 1
        });
        format!("c#{number}")
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The span that was configured, of which this is left.
fn span(left: &str) -> String {
    let left: i64 = left.parse().unwrap();
    let spans = SPANS.iter();
    let known = spans.copied().find(|span| (span - 60..=*span).contains(&left.abs()));
    known.map_or_else(|| left.to_string(), |span| format!("~{span}"))
}
