//! Selection of k of n: exact marginals, least work, speed.

use ripstop_delay::Dice;
use ripstop_placement::{
    project,
    selection::{least_work, least_work_planned, systematic},
};
use std::{hint::black_box, time::Instant};

#[test]
fn systematic_sampling_selects_every_position_with_its_probability() {
    let mut dice = Dice::new(1);
    for _ in 0..20 {
        let n = 3 + dice.below(10) as usize;
        let k = 1 + dice.below(n as u64 - 1) as usize;
        let mut p: Vec<f64> = (0..n).map(|_| 1.5 * dice.uniform()).collect();
        project(&mut p, k as f64);
        let draws = 20_000;
        let mut counts = vec![0u32; n];
        for _ in 0..draws {
            let selection = systematic(&p, dice.next_u64());
            let mut positions = selection.positions().to_vec();
            assert_eq!(positions.len(), k);
            positions.sort_unstable();
            positions.dedup();
            assert_eq!(positions.len(), k, "twice the same");
            for &at in &positions {
                counts[usize::from(at)] += 1;
            }
        }
        for (count, p) in counts.iter().zip(&p) {
            let sd = (p * (1.0 - p) / f64::from(draws)).sqrt();
            let off = (f64::from(*count) / f64::from(draws) - p).abs();
            assert!(off <= 5.0 * sd + 1e-9, "{off} against deviation {sd}");
        }
    }
}

#[test]
fn all_pairs_of_equal_nodes_are_selected_together() {
    // Without a new order for each draw, neighbours would never be.
    let mut together = [[0u32; 6]; 6];
    let mut dice = Dice::new(2);
    for _ in 0..15_000 {
        let selection = systematic(&[1.0 / 3.0; 6], dice.next_u64());
        let &[a, b] = selection.positions() else { panic!("two") };
        together[usize::from(a.min(b))][usize::from(a.max(b))] += 1;
    }
    for (a, row) in together.iter().enumerate() {
        assert!(row[a + 1..].iter().all(|&count| (850..1150).contains(&count)), "{row:?}");
    }
}

#[test]
fn least_work_selects_the_least() {
    let mut dice = Dice::new(3);
    for _ in 0..5000 {
        let n = 1 + dice.below(20) as usize;
        let k = dice.below(n as u64 + 1) as usize;
        let work: Vec<f64> = (0..n).map(|_| dice.below(8) as f64).collect();
        let selection = least_work(&work, k, dice.next_u64());
        let chosen: Vec<f64> =
            selection.positions().iter().map(|&at| work[usize::from(at)]).collect();
        let mut sorted = work.clone();
        sorted.sort_by(f64::total_cmp);
        assert_eq!(chosen, sorted[..k]);
    }
}

#[test]
fn equals_are_selected_alike() {
    let mut counts = [0u32; 5];
    let mut dice = Dice::new(4);
    for _ in 0..10_000 {
        let selection = least_work(&[0.0; 5], 2, dice.next_u64());
        selection.positions().iter().for_each(|&at| counts[usize::from(at)] += 1);
    }
    assert!(counts.iter().all(|count| (3800..4200).contains(count)), "{counts:?}");
}

#[test]
fn the_plan_weighs_as_much_as_it_is_told() {
    let (work, plan) = ([3.0, 2.0, 1.0, 0.0], [1.0, 0.9, 0.1, 0.0]);
    let of = |weight| {
        let mut positions = least_work_planned(&work, &plan, weight, 2, 0).positions().to_vec();
        positions.sort_unstable();
        positions
    };
    assert_eq!(of(0.0), [2, 3]);
    assert_eq!(of(1e9), [0, 1]);
    assert_eq!(of(2.2), [1, 3]);
}

#[test]
#[ignore = "measures; run with --release --nocapture"]
fn a_selection_of_12_takes_less_than_200_ns() {
    let p = [0.5; 12];
    let work: Vec<f64> = (0..12).map(|at| f64::from((at * 7) % 12)).collect();
    let time = |name: &str, mut f: Box<dyn FnMut(u64)>| {
        let start = Instant::now();
        (0..2_000_000).for_each(&mut f);
        println!("{name}: {:.0} ns", start.elapsed().as_secs_f64() * 500.0);
    };
    time(
        "systematic",
        Box::new(move |luck| {
            black_box(systematic(black_box(&p), luck));
        }),
    );
    let w = work.clone();
    time(
        "least work",
        Box::new(move |luck| {
            black_box(least_work(black_box(&w), 6, luck << 58));
        }),
    );
    time(
        "planned",
        Box::new(move |luck| {
            black_box(least_work_planned(black_box(&work), &p, 1.0, 6, luck << 58));
        }),
    );
}
