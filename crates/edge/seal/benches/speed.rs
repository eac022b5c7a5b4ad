//! Prints how fast blocks are sealed and encrypted on one core of this machine, beside CRC-64,
//! which finds accidents but no forgeries, and beside what others make of the same arithmetic:
//! `cargo bench -p ripstop-seal --bench speed`.
//!
//! Contestants take turns; a figure is the median over the rounds, with the best round behind it,
//! since other load on the machine only ever slows a round down. Hot: one block again and again.
//! Cold: blocks in turn, together far larger than any cache.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use crc_fast::{CrcAlgorithm, Digest};
use polyval::{Polyval, universal_hash::UniversalHash as _};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ripstop_seal::{Address, Cipher, Kernel, Sealer, StoreKey};
use std::{cell::RefCell, env, hint::black_box, time::Instant};

/// Block lengths, each hot.
const LENS: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];
/// Bytes that a cold column cycles through, in blocks of 64 KiB.
const COLD_LEN: usize = 384 << 20;
/// Bytes of a round.
const ROUND_LEN: usize = 4 << 20;
const ROUNDS: usize = 301;
const ADDRESS: Address = Address::new([7; 28]);

/// Does something with a block, which may be overwritten, and its number.
type Run = Box<dyn Fn(&mut [u8], u32)>;

struct Contestant {
    name: String,
    run: Run,
}

fn contestant(name: impl Into<String>, run: impl Fn(&mut [u8], u32) + 'static) -> Contestant {
    Contestant { name: name.into(), run: Box::new(run) }
}

/// A block's checksum, over its place too.
fn crc(bytes: &[u8], number: u32) -> u64 {
    let mut place = [7; 21];
    place[17..].copy_from_slice(&number.to_le_bytes());
    let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
    digest.update(&place);
    digest.update(bytes);
    digest.finalize()
}

fn contestants(key: &StoreKey) -> Vec<Contestant> {
    let mut all = vec![contestant("CRC-64/NVME", |bytes, number| {
        black_box(crc(bytes, number));
    })];
    for kernel in Kernel::available() {
        let sealer = Sealer::with_kernel(key, kernel);
        all.push(contestant(format!("seal, {kernel}"), move |bytes, number| {
            black_box(sealer.block(&ADDRESS, number, [bytes]));
        }));
    }
    all.push(contestant("POLYVAL alone, crate polyval", |bytes, _| {
        let mut hash = Polyval::new(&[7; 16].into());
        hash.update_padded(bytes);
        black_box(hash.finalize());
    }));
    all.push(copy("copy", |_, _| {}));
    let sealer = Sealer::new(key);
    all.push(copy("copy, then seal", move |copied, number| {
        black_box(sealer.block(&ADDRESS, number, [copied]));
    }));
    all.push(copy("copy, then CRC-64/NVME", |copied, number| {
        black_box(crc(copied, number));
    }));
    for kernel in Kernel::available() {
        let cipher = Cipher::with_kernel(key, kernel);
        all.push(contestant(format!("encrypt, {kernel}"), move |bytes, number| {
            black_box(cipher.encrypt(&ADDRESS, number, bytes));
        }));
    }
    let rival = UnboundKey::new(&AES_256_GCM, &[7; 32]).expect("32 bytes are a key");
    let rival = LessSafeKey::new(rival);
    all.push(contestant("encrypt with AES-256-GCM, crate ring", move |bytes, number| {
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&number.to_le_bytes());
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = rival.seal_in_place_separate_tag(nonce, Aad::empty(), bytes);
        black_box(tag.expect("a short block").as_ref());
    }));
    all
}

/// Copies a block, and does something with the copy.
fn copy(name: &str, then: impl Fn(&[u8], u32) + 'static) -> Contestant {
    let target = RefCell::new(vec![1; LENS[2]]);
    contestant(name, move |bytes, number| {
        let copied = &mut target.borrow_mut()[..bytes.len()];
        copied.copy_from_slice(bytes);
        then(black_box(copied), number);
    })
}

/// GB/s of each round, in order of the contestants.
fn rounds(contestants: &[Contestant], memory: &mut [u8], len: usize) -> Vec<Vec<f64>> {
    let blocks = memory.len() / len;
    let batch = ROUND_LEN / len;
    let (mut next, mut number) = (0, 0);
    let mut speeds = vec![Vec::new(); contestants.len()];
    for _ in 0..ROUNDS {
        for (contestant, speeds) in contestants.iter().zip(&mut speeds) {
            let start = Instant::now();
            for _ in 0..batch {
                (contestant.run)(black_box(&mut memory[next * len..][..len]), number);
                next = (next + 1) % blocks;
                number = number.wrapping_add(1);
            }
            speeds.push((batch * len) as f64 / start.elapsed().as_secs_f64() / 1e9);
        }
    }
    speeds
}

/// The median and the best.
fn figure(mut speeds: Vec<f64>) -> String {
    speeds.sort_by(f64::total_cmp);
    format!("{:.1} ({:.1})", speeds[speeds.len() / 2], speeds[speeds.len() - 1])
}

fn main() {
    // What cargo says to every bench.
    if env::args().any(|word| word == "--test" || word == "--list") {
        return;
    }
    let contestants = contestants(&StoreKey::generate());
    let mut columns: Vec<Vec<String>> = Vec::new();
    for len in LENS {
        // Where blocks of memory begin: at a page.
        let mut memory = vec![1; len + 4096];
        let start = memory.as_ptr().align_offset(4096);
        columns.push(
            rounds(&contestants, &mut memory[start..][..len], len)
                .into_iter()
                .map(figure)
                .collect(),
        );
    }
    let mut memory = vec![1; COLD_LEN];
    columns.push(rounds(&contestants, &mut memory, LENS[1]).into_iter().map(figure).collect());
    println!("GB/s on one core, median of {ROUNDS} rounds and best\n");
    println!("| | 4 KiB, hot | 64 KiB, hot | 1 MiB, hot | 64 KiB, cold |");
    println!("|---|--:|--:|--:|--:|");
    for (at, contestant) in contestants.iter().enumerate() {
        let figures: Vec<&str> = columns.iter().map(|column| &*column[at]).collect();
        println!("| {} | {} |", contestant.name, figures.join(" | "));
    }
}
