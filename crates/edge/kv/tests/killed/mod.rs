//! A door in a process of its own, and clients that know what they were answered.

use std::{
    collections::BTreeMap,
    env,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// Names the servers of the door's rings.
pub(crate) const RINGS: &str = "RIPSTOP_TEST_RINGS";
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A door that runs.
pub(crate) struct Killed {
    child: Child,
    pub(crate) at: SocketAddr,
}

impl Killed {
    pub(crate) fn start(rings: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "door", "--ignored", "--nocapture"])
            .env(RINGS, rings)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let at =
            lines.map_while(Result::ok).find_map(|line| Some(line.strip_prefix("at ")?.parse()));
        Self { at: at.expect("it says where it is").unwrap(), child }
    }

    /// As `kill -9` does it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What was seen and done.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Seen {
    pub(crate) answered: u64,
    pub(crate) values: u64,
    pub(crate) nothing: u64,
}

impl Seen {
    pub(crate) fn add(&mut self, other: Self) {
        self.answered += other.answered;
        self.values += other.values;
        self.nothing += other.nothing;
    }
}

/// What was asked for and not answered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Asked {
    #[default]
    Nothing,
    Value(Option<u64>),
}

/// What is known of a key. A value is the number of its write; none is no value.
#[derive(Clone, Copy, Default, Debug)]
struct Known {
    answered: Option<u64>,
    perhaps: Asked,
    /// The greatest version that was seen.
    version: u64,
    /// A version that the key has no more.
    outdated: Option<u64>,
}

/// A client with keys of its own.
pub(crate) struct Client {
    keys: BTreeMap<usize, Known>,
    dice: u64,
    writes: u64,
    pub(crate) seen: Seen,
}

impl Client {
    pub(crate) fn new(seed: u64, keys: impl Iterator<Item = usize>) -> Self {
        let keys = keys.map(|key| (key, Known::default())).collect();
        Self {
            keys,
            dice: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            writes: 0,
            seen: Seen::default(),
        }
    }

    fn roll(&mut self, below: u64) -> u64 {
        self.dice =
            self.dice.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.dice >> 33) % below
    }

    /// Reads every key: each has what was answered, or what was asked for last.
    pub(crate) fn audit(&mut self, at: SocketAddr) {
        let Ok(mut door) = Door::connect(at) else { return };
        for (key, known) in &mut self.keys {
            let Ok(found) = door.gets(*key) else { return };
            let number = found.map(|found| found.0);
            let is_it = number == known.answered || Asked::Value(number) == known.perhaps;
            assert!(is_it, "key {key} has {found:?} of {known:?}");
            if let Some((_, version)) = found {
                assert!(version >= known.version, "key {key}: {found:?} of {known:?}");
                if version > known.version && known.version > 0 {
                    known.outdated = Some(known.version);
                }
                known.version = version;
                self.seen.values += 1;
            } else {
                self.seen.nothing += 1;
                known.outdated = Some(known.version).filter(|version| *version > 0);
            }
            (known.answered, known.perhaps) = (number, Asked::Nothing);
        }
    }

    /// Writes until the door is gone.
    pub(crate) fn write_until_killed(&mut self, at: SocketAddr) {
        let Ok(mut door) = Door::connect(at) else { return };
        while self.write(&mut door).is_ok() {}
    }

    fn write(&mut self, door: &mut Door) -> io::Result<()> {
        let at = self.roll(self.keys.len() as u64) as usize;
        let (key, mut known) = self.keys.iter().nth(at).map(|(key, known)| (*key, *known)).unwrap();
        let what = self.roll(10);
        if let (0, Some(outdated)) = (what, known.outdated) {
            // A version of before matches nothing, whatever was killed since.
            let said = door.store("cas", key, 0, 9, &outdated.to_string())?;
            assert!(matches!(&said[..], "EXISTS" | "NOT_FOUND"), "{said} of {known:?}");
            return Ok(());
        }
        self.writes += 1;
        let number = self.writes * 1000 + key as u64;
        let wanted = (what > 2).then_some(number);
        // Before it is asked for: the door may be killed meanwhile.
        known.perhaps = Asked::Value(wanted);
        self.keys.insert(key, known);
        if wanted.is_some() {
            let len = [9, 40, 300, 1500, 9000][self.roll(5) as usize];
            let said = door.store("set", key, number, len, "")?;
            assert_eq!(said, "STORED", "key {key}");
            let version = known.version;
            (known.answered, known.perhaps) = (wanted, Asked::Nothing);
            self.keys.insert(key, known);
            let now = door.gets(key)?.map_or(0, |found| found.1);
            assert!(now > version, "key {key}: {now} after {version}");
            known.version = now;
            known.outdated = (version > 0).then_some(version);
        } else {
            let said = door.ask(&format!("delete key-{key}\r\n"))?;
            assert!(matches!(&said[..], "DELETED" | "NOT_FOUND"), "{said}");
            known.outdated = (known.version > 0).then_some(known.version);
            (known.answered, known.perhaps) = (wanted, Asked::Nothing);
        }
        self.keys.insert(key, known);
        self.seen.answered += 1;
        Ok(())
    }
}

/// A connection to the door.
struct Door {
    stream: BufReader<TcpStream>,
}

impl Door {
    fn connect(at: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(at)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// A line that is answered.
    fn ask(&mut self, asked: &str) -> io::Result<String> {
        self.stream.get_mut().write_all(asked.as_bytes())?;
        self.line()
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let line = line.strip_suffix("\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(line.to_owned())
    }

    fn store(
        &mut self,
        how: &str,
        key: usize,
        number: u64,
        len: usize,
        version: &str,
    ) -> io::Result<String> {
        self.ask(&format!("{how} key-{key} 7 0 {len} {version}\r\n{number:0len$}\r\n"))
    }

    /// The number of the write that the key has, and its version.
    fn gets(&mut self, key: usize) -> io::Result<Option<(u64, u64)>> {
        let head = self.ask(&format!("gets key-{key}\r\n"))?;
        if head == "END" {
            return Ok(None);
        }
        let words: Vec<&str> = head.split(' ').collect();
        let ["VALUE", _, "7", len, version] = words[..] else { panic!("{head}") };
        let (len, version): (usize, u64) = (len.parse().unwrap(), version.parse().unwrap());
        let mut value = vec![0; len + 2];
        self.stream.read_exact(&mut value)?;
        assert_eq!(self.line()?, "END");
        let value = std::str::from_utf8(&value[..len]).unwrap();
        Ok(Some((value.parse().expect("it is as it was written"), version)))
    }
}

/// Everything goes.
pub(crate) fn flush(at: SocketAddr) {
    assert_eq!(Door::connect(at).unwrap().ask("flush_all\r\n").unwrap(), "OK");
}

/// Items that a server has, by its own statistics.
pub(crate) fn items(at: SocketAddr) -> u64 {
    let mut server = Door::connect(at).unwrap();
    let mut line = server.ask("stats\r\n").unwrap();
    let mut items = None;
    while line != "END" {
        items = items.or(line.strip_prefix("STAT curr_items ").map(|count| count.parse().unwrap()));
        line = server.line().unwrap();
    }
    items.unwrap()
}
