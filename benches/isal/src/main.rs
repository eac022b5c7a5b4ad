//! Ripstop's codec beside Intel ISA-L and a copy of memory: one process, one core, one set of
//! buffers, measurements of the contestants in turns.

mod buffers;
mod contest;
mod isal;

use clap::Parser;
use contest::{Contest, Direction, Row};
use ripstop_codec::{Codec, Engine, Stores};
use ripstop_model::Code;
use std::process::ExitCode;

/// Compares Ripstop's codec with Intel ISA-L: GB/s of object (data) bytes on one core.
///
/// Hot: one stripe, again and again. Cold: stripes in turn, together far larger than any cache.
/// Decoding rebuilds as many lost data strips as parity can replace, at most half of K, from the
/// other data strips and that many parity strips.
#[derive(Parser)]
struct Arguments {
    /// Engine of Ripstop's codec, by default the best
    #[arg(long)]
    engine: Option<String>,

    /// How Ripstop stores results
    #[arg(long, default_value = "cached", value_parser = ["cached", "streaming"])]
    stores: String,

    /// Rounds per row; the medians over rounds are printed
    #[arg(long, default_value_t = 41)]
    rounds: usize,

    /// Codes as N,K
    #[arg(long, value_parser = parse_code, num_args = 1.., default_values = ["4,2", "6,4", "12,6", "14,10", "24,12"])]
    codes: Vec<Code>,

    /// Bytes per strip
    #[arg(long, num_args = 1.., default_values_t = [65536, 524_288])]
    strips: Vec<usize>,

    /// MiB that a cold row cycles through
    #[arg(long, default_value_t = 384)]
    cold_mib: usize,

    /// Bytes by which every strip lies off a multiple of 64
    #[arg(long, default_value_t = 0)]
    misalign: usize,

    /// Only hot or only cold rows
    #[arg(long, value_parser = ["hot", "cold"])]
    only: Option<String>,

    /// Comma-separated values instead of a table
    #[arg(long)]
    csv: bool,
}

fn parse_code(text: &str) -> Result<Code, String> {
    let (n, k) = text.split_once(',').ok_or("a code is two numbers, N,K")?;
    let number = |digits: &str| digits.trim().parse::<usize>().map_err(|error| error.to_string());
    Code::new(number(n)?, number(k)?).map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let engine = match arguments.engine.as_deref().map_or_else(Engine::chosen, Engine::by_name) {
        Ok(engine) => engine,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let stores = if arguments.stores == "streaming" { Stores::Streaming } else { Stores::Cached };
    if arguments.csv {
        println!("code,strip,state,direction,ripstop_gbps,isal_gbps,ratio,copy_gbps");
    } else {
        println!("Ripstop {engine}, {} stores; ISA-L {}", arguments.stores, isal::VERSION);
        println!("GB/s of data bytes, one core, medians of {} rounds\n", arguments.rounds);
        println!("| code | strip | state | direction | Ripstop | ISA-L | ratio | copy |");
        println!("|---|--:|---|---|--:|--:|--:|--:|");
    }
    for &strip_len in &arguments.strips {
        for cold in [false, true] {
            if arguments.only.as_deref().is_some_and(|only| (only == "cold") != cold) {
                continue;
            }
            for &code in &arguments.codes {
                let total = if cold { arguments.cold_mib << 20 } else { 0 };
                let codec = Codec::with_engine(code, engine).with_stores(stores);
                let mut contest = Contest::new(codec, strip_len, total, arguments.misalign);
                for direction in [Direction::Encode, Direction::Decode] {
                    if direction == Direction::Decode && code.parity() == 0 {
                        continue;
                    }
                    let row = contest.run(direction, arguments.rounds);
                    print_row(arguments.csv, code, strip_len, cold, direction, &row);
                }
            }
        }
    }
    ExitCode::SUCCESS
}

fn print_row(csv: bool, code: Code, strip_len: usize, cold: bool, direction: Direction, row: &Row) {
    let state = if cold { "cold" } else { "hot" };
    let Row { ripstop, isal, ratio, copy } = row;
    if csv {
        let code = format!("{}/{}", code.n(), code.k());
        println!(
            "{code},{strip_len},{state},{direction},{ripstop:.2},{isal:.2},{ratio:.3},{copy:.2}"
        );
    } else {
        let kib = strip_len / 1024;
        println!(
            "| {code} | {kib} KiB | {state} | {direction} | {ripstop:.1} | {isal:.1} | {ratio:.2} | {copy:.1} |"
        );
    }
}
