//! One row of the table: the contestants take turns on the same stripes.

use crate::{buffers::Stripe, isal::Tables};
use ripstop_codec::{Codec, RebuildPlan};
use ripstop_model::Code;
use std::{fmt, hint::black_box, time::Instant};

/// Data bytes that one measurement covers, about a millisecond's worth.
const BATCH: usize = 24 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Encode,
    Decode,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Encode => "encode",
            Self::Decode => "decode",
        })
    }
}

/// Medians over rounds, in GB/s of data bytes; the ratio is the median of each round's ratio.
pub struct Row {
    pub ripstop: f64,
    pub isal: f64,
    pub ratio: f64,
    pub copy: f64,
}

/// The stripes of one code and strip length, and the codec.
pub struct Contest {
    codec: Codec,
    strip_len: usize,
    stripes: Vec<Stripe>,
}

/// What one call reads and writes, and what a copy does.
struct Call<'a> {
    sources: Vec<&'a [u8]>,
    outputs: Vec<&'a mut [u8]>,
    data: Vec<&'a [u8]>,
    copies: Vec<&'a mut [u8]>,
}

/// Ripstop's side of a contest.
enum Ripstop {
    Encode(Codec),
    Decode(RebuildPlan),
}

impl Ripstop {
    fn run(&self, sources: &[&[u8]], outputs: &mut [&mut [u8]]) {
        match self {
            Self::Encode(codec) => codec.encode(sources, outputs),
            Self::Decode(plan) => plan.run(sources, outputs),
        }
        .expect("shapes are those of the code");
    }
}

impl Contest {
    /// Stripes of `total` bytes, at least one, with every strip `misalign` bytes off a line.
    pub fn new(codec: Codec, strip_len: usize, total: usize, misalign: usize) -> Self {
        let mut stripes = Stripe::fill(codec.code(), strip_len, total, misalign);
        for Stripe { data, parity, .. } in &mut stripes {
            let data: Vec<_> = data.iter().map(|strip| strip.bytes()).collect();
            let mut parity: Vec<_> = parity.iter_mut().map(|strip| strip.bytes_mut()).collect();
            codec.encode(&data, &mut parity).expect("shapes are those of the code");
        }
        Self { codec, strip_len, stripes }
    }

    /// Runs every contestant in each of this many rounds.
    pub fn run(&mut self, direction: Direction, rounds: usize) -> Row {
        let code = self.codec.code();
        let lost: Vec<usize> = (0..code.parity().min(code.k().div_ceil(2))).collect();
        let (ripstop, isal) = match direction {
            Direction::Encode => (Ripstop::Encode(self.codec.clone()), Tables::encode(code)),
            Direction::Decode => {
                let present = (lost.len()..code.n()).collect();
                let plan = self.codec.plan(present, &lost).expect("enough strips are present");
                let isal = Tables::decode(code, plan.sources(), &lost);
                (Ripstop::Decode(plan), isal)
            }
        };
        let data_len = self.strip_len * code.k();
        let mut calls: Vec<_> = self
            .stripes
            .iter_mut()
            .map(|stripe| call(stripe, code, direction, lost.len()))
            .collect();
        assert_agree(&ripstop, &isal, &mut calls[0]);

        let batch = BATCH.div_ceil(data_len);
        let mut turn = Turn { calls: &mut calls, next: 0, batch, data_len };
        let mut speeds = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            let ours_first = round % 2 == 0;
            if ours_first {
                speeds.0.push(turn.of_ripstop(&ripstop));
            }
            speeds.1.push(turn.of_isal(&isal));
            if !ours_first {
                speeds.0.push(turn.of_ripstop(&ripstop));
            }
            speeds.2.push(turn.of_copy());
        }
        let ratios = speeds.0.iter().zip(&speeds.1).map(|(ours, theirs)| ours / theirs).collect();
        Row {
            ripstop: median(speeds.0),
            isal: median(speeds.1),
            ratio: median(ratios),
            copy: median(speeds.2),
        }
    }
}

fn call(stripe: &mut Stripe, code: Code, direction: Direction, lost: usize) -> Call<'_> {
    let Stripe { data, parity, rebuilt, copies } = stripe;
    let data: Vec<_> = data.iter().map(|strip| strip.bytes()).collect();
    let copies = copies.iter_mut().map(|strip| strip.bytes_mut()).collect();
    match direction {
        Direction::Encode => {
            let outputs = parity.iter_mut().map(|strip| strip.bytes_mut()).collect();
            Call { sources: data.clone(), outputs, data, copies }
        }
        Direction::Decode => {
            let present = data.iter().copied().chain(parity.iter().map(|strip| strip.bytes()));
            let sources = present.skip(lost).take(code.k()).collect();
            let outputs = rebuilt.iter_mut().take(lost).map(|strip| strip.bytes_mut()).collect();
            Call { sources, outputs, data, copies }
        }
    }
}

fn assert_agree(ripstop: &Ripstop, isal: &Tables, call: &mut Call<'_>) {
    ripstop.run(&call.sources, &mut call.outputs);
    let ours: Vec<_> = call.outputs.iter().map(|output| output.to_vec()).collect();
    call.outputs.iter_mut().for_each(|output| output.fill(0));
    let (sources, mut outputs) = call.pointers();
    isal.run(call.data[0].len(), &sources, &mut outputs);
    assert!(ours.iter().zip(&call.outputs).all(|(ours, theirs)| ours == theirs), "bytes differ");
}

impl Call<'_> {
    fn pointers(&mut self) -> (Vec<*const u8>, Vec<*mut u8>) {
        let sources = self.sources.iter().map(|source| source.as_ptr()).collect();
        (sources, self.outputs.iter_mut().map(|output| output.as_mut_ptr()).collect())
    }
}

/// Whose turn it is works on the next stripes, which after a cycle through all are cold again.
struct Turn<'a, 'b> {
    calls: &'a mut [Call<'b>],
    next: usize,
    batch: usize,
    data_len: usize,
}

impl<'b> Turn<'_, 'b> {
    fn of_ripstop(&mut self, ripstop: &Ripstop) -> f64 {
        self.timed(|_| (), |(), call| ripstop.run(&call.sources, &mut call.outputs))
    }

    fn of_isal(&mut self, isal: &Tables) -> f64 {
        self.timed(Call::pointers, |(sources, outputs), call| {
            isal.run(call.data[0].len(), sources, outputs);
        })
    }

    fn of_copy(&mut self) -> f64 {
        self.timed(
            |_| (),
            |(), call| {
                for (copy, data) in call.copies.iter_mut().zip(&call.data) {
                    copy.copy_from_slice(data);
                }
            },
        )
    }

    /// GB/s of one batch; what `prepare` makes is not timed. A single stripe is warmed up first.
    fn timed<P>(
        &mut self,
        prepare: impl Fn(&mut Call<'b>) -> P,
        run: impl Fn(&mut P, &mut Call<'b>),
    ) -> f64 {
        let count = self.calls.len();
        let from = self.next;
        // One more, lest a contestant meet the same stripes each time.
        self.next = (from + self.batch + 1) % count;
        let mut prepared: Vec<P> = (0..self.batch.min(count))
            .map(|at| prepare(&mut self.calls[(from + at) % count]))
            .collect();
        if count == 1 {
            run(&mut prepared[0], &mut self.calls[0]);
        }
        let start = Instant::now();
        for at in 0..self.batch {
            let (prepared, call) =
                (&mut prepared[at % count], &mut self.calls[(from + at) % count]);
            run(black_box(prepared), black_box(call));
        }
        (self.data_len * self.batch) as f64 / start.elapsed().as_secs_f64() / 1e9
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
