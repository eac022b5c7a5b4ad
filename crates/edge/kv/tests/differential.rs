//! The door beside memcached itself: the same commands, the same answers.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "../../memory/tests/support/mod.rs"]
mod support;

mod script;
mod side;

use ripstop_kv::{CodedShelf, LocalShelf};
use ripstop_memory::CodedMemory;
use script::{Course, Dice};
use side::{Sides, door};
use std::{thread, time::Duration};
use support::Server;

/// Courses that are played, and commands of each.
const COURSES: u64 = 2500;
const STEPS: usize = 40;

/// Courses that are played over the memory tier.
const CODED_COURSES: u64 = 150;

fn sides() -> (Server, Sides) {
    // With its maintainer of lists memcached holds items now and then, and then writes a shorter
    // number otherwise.
    let server = Server::start_with(&["-o", "no_lru_maintainer"]);
    let sides = Sides::connect(server.at(), door(|| LocalShelf::new(1 << 30)), true);
    (server, sides)
}

#[test]
fn whatever_is_asked_memcached_answers_the_same() {
    if !support::is_there() {
        return;
    }
    let (_server, mut sides) = sides();
    play(&mut sides, COURSES);
}

#[test]
fn over_the_memory_tier_it_answers_the_same_too() {
    if !support::is_there() {
        return;
    }
    let server = Server::start_with(&["-o", "no_lru_maintainer"]);
    let servers: Vec<Server> = (0..5).map(|_| Server::start()).collect();
    let settings = support::settings((5, 3), &servers);
    let shelf = move || {
        CodedShelf::new(CodedMemory::new(settings, &support::key()).expect("these are settings"))
    };
    let mut sides = Sides::connect(server.at(), door(shelf), false);
    play(&mut sides, CODED_COURSES);
}

/// Has both play courses, and agree.
fn play(sides: &mut Sides, courses: u64) {
    let seed = std::env::var("RIPSTOP_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for number in 0..courses {
        let mut course = Course::new(Dice::new(seed * 1_000_003 + number));
        sides.ask(&Course::clean());
        let mut before = Vec::new();
        for step in 0..STEPS {
            let command = course.command(sides.versions());
            before.push(side::shown(&command));
            if let Err(told) = sides.compare(&command) {
                let before = before.join("\n      ");
                panic!("course {number}, step {step}, seed {seed}:\nafter {before}\n{told}");
            }
        }
    }
}

/// Asks both the same, and has them agree.
fn agree(sides: &mut Sides, commands: &str) -> String {
    sides.compare(&script::plain(commands)).unwrap_or_else(|told| panic!("{told}"))
}

#[test]
fn what_ends_ends_and_what_is_flushed_later_is_there_until_then() {
    if !support::is_there() {
        return;
    }
    let (_server, mut sides) = sides();
    agree(&mut sides, "set a 0 2 1\r\n1\r\nset b 0 -1 1\r\n1\r\nset c 0 0 1\r\n1\r\n");
    let said = agree(&mut sides, "get a b c\r\n");
    assert!(said.contains("VALUE a") && !said.contains("VALUE b"), "{said}");
    agree(&mut sides, "touch c 2\r\nset d 0 0 1\r\n1\r\ngat 2 d\r\nset e 0 0 1\r\n1\r\n");
    thread::sleep(Duration::from_millis(3100));
    let said =
        agree(&mut sides, "get a b c d e\r\nmg a\r\nadd a 0 0 1\r\n2\r\ncas c 0 0 1 5\r\n1\r\n");
    assert!(said.contains("VALUE e") && !said.contains("VALUE c"), "{said}");
    agree(&mut sides, "flush_all 2\r\n");
    let said = agree(&mut sides, "get e\r\n");
    assert!(said.contains("VALUE e"), "{said}");
    thread::sleep(Duration::from_millis(3100));
    let said = agree(&mut sides, "get a e\r\n");
    assert!(!said.contains("VALUE"), "{said}");
    let said = agree(&mut sides, "set e 0 0 1\r\n1\r\nget e\r\n");
    assert!(said.contains("VALUE e"), "{said}");
}

#[test]
fn items_are_as_long_as_memcached_lets_them_be_and_no_longer() {
    if !support::is_there() {
        return;
    }
    let (_server, mut sides) = sides();
    let longest = (1 << 20) - 59 - 4;
    for (len, flags, fits) in [
        (longest, 0, true),
        (longest + 1, 0, false),
        (longest - 4, 1, true),
        (longest - 3, 1, false),
        (3 << 20, 0, false),
    ] {
        agree(&mut sides, "set keyy 0 0 1\r\n1\r\n");
        let value = "x".repeat(len);
        let said = agree(&mut sides, &format!("set keyy {flags} 0 {len}\r\n{value}\r\n"));
        assert_eq!(said.contains("STORED\r\n"), fits, "{len}");
        agree(&mut sides, "get keyy\r\nme keyy\r\n");
        agree(&mut sides, &format!("ms keyy {len} F{flags} T0\r\n{value}\r\nmg keyy s f\r\n"));
        agree(&mut sides, &format!("add keyz {flags} 0 {len} noreply\r\n{value}\r\nget keyz\r\n"));
        agree(&mut sides, "append keyy 0 0 9\r\n123456789\r\nmg keyy s\r\ndelete keyz\r\n");
    }
    let number = format!("5{}", " ".repeat(600_000));
    let len = number.len();
    agree(&mut sides, &format!("set n 0 0 {len}\r\n{number}\r\nincr n 1\r\nma n\r\n"));
}
