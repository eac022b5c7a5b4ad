//! Commands drawn by dice: most are well formed, the rest nearly.

/// Dice whose throws are known from their seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn throw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33
    }

    fn below(&mut self, end: usize) -> usize {
        self.throw() as usize % end
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// A piece of a command.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Bytes(Vec<u8>),
    /// The version that was seen as the n-th; each server has its own for that.
    Version(usize),
}

/// What is sent at once.
pub(crate) type Script = Vec<Piece>;

/// A script without versions.
pub(crate) fn plain(text: &str) -> Script {
    vec![Piece::Bytes(text.as_bytes().to_vec())]
}

/// Commands one after the other.
pub(crate) struct Course {
    dice: Dice,
    versions: usize,
    script: Script,
}

const KEYS: [&str; 5] = ["a", "b", "key", "n", "m"];
/// Keys of meta commands that come as base64, of which two decode to the same.
const BINARY_KEYS: [&str; 3] = ["YmluMQ==", "YmluMg==", "Ymlu.MQ=="];
const EXPTIMES: [&str; 8] = ["0", "0", "0", "100", "1000", "-1", "2592000", "100000"];
/// None makes a number of more than 63 bits: with one of these memcached looks for a minus sign in
/// what is behind it.
const ODD_NUMBERS: [&str; 9] =
    ["abc", "-1", "4294967295", "4294967296", "18446744073709551616", "+7", "7x", "-", "\t7"];

impl Course {
    pub(crate) fn new(dice: Dice) -> Self {
        Self { dice, versions: 0, script: Vec::new() }
    }

    /// What leaves nothing.
    pub(crate) fn clean() -> Script {
        plain("flush_all\r\n")
    }

    /// The next commands; `versions` were seen so far.
    pub(crate) fn command(&mut self, versions: usize) -> Script {
        self.versions = versions;
        match self.dice.below(24) {
            0..=3 => self.get(),
            4..=7 => self.store(),
            8 => self.cas(),
            9..=10 => self.count(),
            11 => self.delete_or_touch(),
            12..=13 => self.meta_get(),
            14..=16 => self.meta_set(),
            17 => self.meta_delete(),
            18..=19 => self.meta_count(),
            20 => self.odd(),
            21 => self.debug(),
            _ => self.several(),
        }
        std::mem::take(&mut self.script)
    }

    fn say(&mut self, text: &str) {
        self.script.push(Piece::Bytes(text.as_bytes().to_vec()));
    }

    fn version(&mut self) {
        if self.versions == 0 || self.dice.once_in(8) {
            let number = self.dice.one(&["0", "1", "7x", "-1", "999999999999999999999"]);
            return self.say(number);
        }
        // The latest is most often the one that is there.
        let back = if self.dice.once_in(3) { self.dice.below(self.versions.min(6)) } else { 0 };
        self.script.push(Piece::Version(self.versions - 1 - back));
    }

    fn key(&mut self) -> String {
        match self.dice.below(60) {
            0 => "k".repeat(250),
            1 => "k".repeat(251),
            _ => self.dice.one(&KEYS).to_owned(),
        }
    }

    fn number(&mut self) -> String {
        if self.dice.once_in(6) {
            return self.dice.one(&ODD_NUMBERS).to_owned();
        }
        self.dice.below(20).to_string()
    }

    fn exptime(&mut self) -> &'static str {
        if self.dice.once_in(25) { self.dice.one(&ODD_NUMBERS) } else { self.dice.one(&EXPTIMES) }
    }

    /// A value, often a number; it has no line that is a command.
    fn value(&mut self) -> String {
        match self.dice.below(8) {
            0 => String::new(),
            1 => "x".repeat(self.dice.below(3000)),
            2 => self.dice.one(&["ab\r\ncd", "\0\0", "12 apples", " 7", "-5", "7\0x"]).to_owned(),
            3 => self.dice.one(&["4611686018427387904", "99", "9", "18446744073709551616"]).into(),
            _ => self.dice.below(1200).to_string(),
        }
    }

    /// The words that say how long a value is, and the value. Now and then that is not so.
    fn body(&mut self, ending: &str) {
        let value = self.value();
        let len = match self.dice.below(30) {
            // In blanks alone memcached looks for a number in what is behind them.
            _ if value.trim().is_empty() => value.len(),
            0 => value.len() + 1,
            1 => value.len().saturating_sub(1),
            2 => value.len() + 2,
            _ => value.len(),
        };
        self.say(&format!("{len}{ending}\r\n{value}\r\n"));
    }

    fn quiet(&mut self) -> &'static str {
        match self.dice.below(12) {
            0 => " noreply",
            1 => " junk",
            _ => "",
        }
    }

    fn get(&mut self) {
        let command = self.dice.one(&["get", "get", "gets", "gets", "gat", "gats", "bget"]);
        self.say(command);
        if command.starts_with("gat") {
            let exptime = self.exptime();
            self.say(&format!(" {exptime}"));
        }
        let count = self.dice.below(4);
        for _ in 0..count {
            // Of keys before one that is too long memcached notes the use.
            let key = if count == 1 { self.key() } else { self.dice.one(&KEYS).to_owned() };
            self.say(&format!(" {key}"));
        }
        if self.dice.once_in(30) {
            self.say(&" key".repeat(40));
        }
        self.say("\r\n");
    }

    fn store(&mut self) {
        let command = self.dice.one(&["set", "set", "set", "add", "replace", "append", "prepend"]);
        self.classic_store(command);
    }

    fn classic_store(&mut self, command: &str) {
        let (key, flags, exptime) = (self.key(), self.number(), self.exptime());
        self.say(&format!("{command} {key} {flags} {exptime} "));
        let quiet = self.quiet();
        self.body(quiet);
    }

    fn cas(&mut self) {
        let (key, flags, exptime) = (self.key(), self.number(), self.exptime());
        let value = self.value();
        self.say(&format!("cas {key} {flags} {exptime} {} ", value.len()));
        self.version();
        let quiet = self.quiet();
        self.say(&format!("{quiet}\r\n{value}\r\n"));
    }

    fn count(&mut self) {
        let command = self.dice.one(&["incr", "decr"]);
        let (key, by, quiet) = (self.key(), self.number(), self.quiet());
        self.say(&format!("{command} {key} {by}{quiet}\r\n"));
    }

    fn delete_or_touch(&mut self) {
        let (key, quiet) = (self.key(), self.quiet());
        if self.dice.once_in(2) {
            let exptime = self.exptime();
            self.say(&format!("touch {key} {exptime}{quiet}\r\n"));
        } else {
            let zero = self.dice.one(&["", "", "", " 0", " 1"]);
            self.say(&format!("delete {key}{zero}{quiet}\r\n"));
        }
    }

    /// A key of a meta command, and `b` if it is base64.
    fn meta_key(&mut self) -> (String, &'static str) {
        match self.dice.below(8) {
            0 => (self.dice.one(&BINARY_KEYS).to_owned(), " b"),
            _ => (self.key(), ""),
        }
    }

    /// Some of these flags, in any order, now and then one too many.
    fn flags(&mut self, of: &[&str]) {
        for _ in 0..self.dice.below(6) {
            match self.dice.one(of) {
                "C" => {
                    self.say(" C");
                    self.version();
                }
                flag => self.say(&format!(" {flag}")),
            }
        }
        if self.dice.once_in(40) {
            let odd = self.dice.one(&["Q", "\x7f", "t", "v v", "Tx", "Fx", "MXX", "Jx", "Dx", "!"]);
            self.say(&format!(" {odd}"));
        }
    }

    fn meta_get(&mut self) {
        let (key, binary) = self.meta_key();
        self.say(&format!("mg {key}{binary}"));
        let plain = ["v", "t", "c", "f", "s", "k", "h", "q", "u", "Oabc", "R30", "R500", "R0"];
        let changing = ["T100", "T1000", "T0", "N100", "N0", "v", "t", "k", "c", "R2000", "h"];
        match self.dice.below(20) {
            // memcached notes the use before it refuses.
            0 => self.say(&format!(" u v O{}", "x".repeat(31 + self.dice.0 as usize % 2))),
            1..=9 if binary.is_empty() => self.flags(&changing),
            _ => self.flags(&plain),
        }
        self.say("\r\n");
    }

    fn meta_set(&mut self) {
        let (key, binary) = self.meta_key();
        self.say(&format!("ms {key} "));
        let value = self.value();
        let len = if self.dice.once_in(30) { "S5".into() } else { value.len().to_string() };
        self.say(&format!("{len}{binary}"));
        let modes = ["MA", "MP", "ME", "MR", "MS", "ME", "MZ"];
        if binary.is_empty() && self.dice.once_in(2) {
            let mode = self.dice.one(&modes);
            self.say(&format!(" {mode}"));
        }
        self.flags(&["T0", "T100", "F5", "C", "C", "I", "c", "k", "q", "Oxyz", "T-1"]);
        self.say(&format!("\r\n{value}\r\n"));
    }

    fn meta_delete(&mut self) {
        let (key, binary) = self.meta_key();
        self.say(&format!("md {key}{binary}"));
        self.flags(&["q", "I", "T100", "C", "k", "Oabcdef", "I"]);
        self.say("\r\n");
    }

    fn meta_count(&mut self) {
        let key = self.key();
        self.say(&format!("ma {key}"));
        if self.dice.once_in(2) {
            // What grows longer loses the new end in memcached: only numbers that do not.
            let mode = self.dice.one(&["MD", "M-", "MD T100", "MD T0 t", "M- T1000"]);
            self.say(&format!(" {mode}"));
        }
        self.flags(&["N0", "N100", "J13", "D5", "D30", "q", "t", "c", "v", "k", "Oabc", "C", "v"]);
        self.say("\r\n");
    }

    fn debug(&mut self) {
        let (key, binary) = self.meta_key();
        self.say(&format!("me {key}{binary}\r\n"));
    }

    fn odd(&mut self) {
        let line = self.dice.one(&[
            "",
            " ",
            "\r",
            "x",
            "get",
            "gets",
            "gat",
            "gat 10",
            "gat x a",
            "set",
            "set a 0 0",
            "m",
            "mg",
            "ms",
            "md",
            "ma",
            "me",
            "mx a",
            "ms a",
            "version",
            "verbosity",
            "verbosity 1",
            "verbosity x",
            "shutdown",
            "foo bar",
            "incr a",
            "delete",
            "touch a",
            "cas a 0 0 1",
            "flush_all 0",
            "flush_all x",
            "flush_all -5 noreply",
            "flush_all 1 2 3",
            "stats reset",
            "stats foo",
            "get a\0b c",
            "set a 0 0 -1",
            "set a 0 0 2147483647 x y z",
            "mg a v ",
            "cache_memlimit",
            "cache_memlimit x",
            "cache_memlimit 4",
            "  get   a  ",
            "GET a",
            "mn extra words",
            "ms a 4294967296 T0",
            "ms a -1",
            "mg a b",
            "mg !!! b",
            "gets  ",
            "touch noreply x",
            "flush_all noreply",
            "slabs",
            "lru",
            "extstore",
            "decr a -1",
        ]);
        self.say(&format!("{line}\r\n"));
    }

    /// Several in one go. None counts: what is still to be sent of an item changes how memcached
    /// writes its successor.
    fn several(&mut self) {
        for _ in 0..self.dice.below(5) + 2 {
            match self.dice.below(5) {
                0 => {
                    let key = self.dice.one(&KEYS);
                    self.say(&format!("gets {key} a\r\n"));
                }
                1 => self.classic_store("set"),
                2 => self.delete_or_touch(),
                3 => self.meta_get(),
                _ => self.meta_set(),
            }
        }
    }
}
