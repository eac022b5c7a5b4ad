use super::*;
use crate::Course;
use std::fmt::Write as _;

fn asked(requests: &[(u64, Operation, u64)]) -> Vec<Asked> {
    let one = |&(ms, operation, bytes)| {
        let (at, key) = (Duration::from_millis(ms), None);
        Asked { at, operation, bytes, key }
    };
    requests.iter().map(one).collect()
}

fn workload(requests: &[(u64, Operation, u64)], stripe_max: u32) -> Workload {
    let options = WorkloadOptions { stripe_max, ..WorkloadOptions::default() };
    Workload::of(&asked(requests), None, &options).unwrap()
}

use Operation::{Read, Write};

#[test]
fn large_objects_are_cut_into_stripes_that_arrive_together() {
    let workload = workload(&[(0, Read, 25), (7, Write, 10), (9, Read, 5)], 10);
    let sizes: Vec<_> =
        workload.stripes.iter().map(|s| workload.classes[usize::from(s.1)]).collect();
    let sizes: Vec<_> = sizes.iter().map(|class| (class.operation, class.bytes)).collect();
    assert_eq!(sizes, [(Read, 10), (Read, 10), (Read, 5), (Write, 10), (Read, 5)]);
    let times: Vec<_> = workload.stripes.iter().map(|stripe| stripe.0.as_nanos()).collect();
    assert_eq!(times, [0, 0, 0, 7_000_000, 9_000_000]);
    assert_eq!(workload.objects.iter().map(|object| object.first).collect::<Vec<_>>(), [0, 3, 4]);
    assert!((workload.bytes() - 40.0).abs() < 1e-9);
    assert!((workload.rate_per_s() - 4.0 / 0.009).abs() < 1e-6);
    // What moves most bytes comes first, and equal amounts in a set order.
    assert_eq!(workload.classes[0], ClassSetting::new(Read, 10, 2.0));
}

#[test]
fn many_sizes_become_few_classes_that_keep_the_bytes() {
    let sizes = (0..3000u64).map(|at| (at, if at % 3 == 0 { Write } else { Read }, 1 + at * 2711));
    let requests: Vec<_> = sizes.collect();
    let workload = workload(&requests, 64 << 20);
    assert!((20..=CLASSES_MAX).contains(&workload.classes.len()), "{}", workload.classes.len());
    let bytes: u64 = requests.iter().map(|request| request.2).sum();
    assert!((workload.bytes() / bytes as f64 - 1.0).abs() < 1e-3);
    for (request, stripe) in requests.iter().zip(&workload.stripes) {
        let class = workload.classes[usize::from(stripe.1)];
        assert_eq!(class.operation, request.1);
        assert!(class.bytes <= 2 * request.2 && request.2 <= 2 * class.bytes);
    }
}

#[test]
fn every_size_finds_a_class() {
    let requests: Vec<_> = (0..64).map(|power| (power, Read, 1 << power.min(26))).collect();
    let more = (0..200).map(|at| (100 + at, Write, 3 + at * at * at * 7));
    let requests: Vec<_> = requests.into_iter().chain(more).collect();
    assert!(workload(&requests, 64 << 20).classes.len() <= CLASSES_MAX);
}

#[test]
fn an_object_takes_as_long_as_its_slowest_stripe_and_fails_with_any() {
    let workload = workload(&[(0, Read, 20), (0, Write, 20), (1, Read, 7)], 10);
    let course = |request, took_ns| {
        let (arrived, n, k) = (Timestamp::ZERO, 1, 1);
        Course { arrived, took_ns, n, k, request, class: 0 }
    };
    let courses =
        vec![course(4, 3_000_000), course(1, 9_000_000), course(0, 8_000_000), course(2, 1)];
    let delays = workload.delays(&Outcome { courses, ..Outcome::default() });
    assert_eq!(delays.took_ns, [vec![3_000_000, 9_000_000], vec![]]);
    assert_eq!((delays.failed, delays.reads.count, delays.writes.count), (1, 2, 0));
    assert!((delays.reads.p99_ms - 9.0).abs() < 1e-9);
}

#[test]
fn the_busiest_part_is_where_requests_are_densest() {
    let slow = (0..100).map(|at| (at * 1000, Read, 1));
    let fast = (0..50).map(|at| (100_000 + at * 10, Write, 1));
    let requests: Vec<_> =
        slow.chain(fast).chain((0..20).map(|at| (200_000 + at, Read, 1))).collect();
    let workload = workload(&requests, 10);
    let busiest = workload.busiest(40);
    assert_eq!((busiest.stripes.len(), busiest.objects.len()), (40, 40));
    assert!(busiest.objects.iter().all(|object| object.operation == Write));
    assert_eq!(busiest.stripes[0].0, Timestamp::ZERO);
    assert_eq!(*workload.busiest(1000), workload);
}

#[test]
fn what_is_repeated_goes_on_where_it_ended() {
    let workload = workload(&[(0, Read, 20), (100, Write, 5), (300, Read, 5)], 10);
    let again = workload.repeated(9);
    let times: Vec<_> =
        again.stripes.iter().map(|stripe| stripe.0.as_nanos() / 1_000_000).collect();
    assert_eq!(times, [0, 0, 100, 300, 400, 400, 500, 700, 800, 800, 900, 1100]);
    assert_eq!(
        again.objects.iter().map(|o| o.first).collect::<Vec<_>>(),
        [0, 2, 3, 4, 6, 7, 8, 10, 11]
    );
    assert!((again.rate_per_s() / workload.rate_per_s() - 1.0).abs() < 0.02);
    assert_eq!(*workload.repeated(4), workload);
}

#[test]
fn twice_the_speed_is_half_the_time() {
    let workload = workload(&[(0, Read, 1), (100, Read, 1)], 10);
    let Load::Trace(trace) = workload.load(2.0) else { panic!("a workload is a trace") };
    assert_eq!(trace[1].0.as_nanos(), 50_000_000);
}

#[test]
fn logs_of_whole_seconds_are_spread_and_others_are_not() {
    let folder = std::env::temp_dir().join(format!("ripstop-workload-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).unwrap();
        Workload::read(&folder.join(name), &WorkloadOptions::default()).unwrap()
    };
    let head = "time_s,operation,bytes,key\n";
    let (coarse, summary) =
        write("a.csv", &format!("{head}0,read,10,x\n0,read,10,x\n1,read,8,x\n"));
    assert_eq!(summary.spread, Spread::Random { seed: SPREAD_SEED });
    assert!(coarse.stripes[0].0 < coarse.stripes[1].0);
    assert_eq!(coarse.named_bytes, Some(10));
    let (fine, summary) = write("b.csv", &format!("{head}0,read,10,\n0,read,0,y\n1.5,read,8,z\n"));
    assert_eq!((summary.spread, fine.stripes.len()), (Spread::Off, 2));
    assert_eq!(fine.named_bytes, None);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn files_one_behind_the_other_are_sorted_whole() {
    let path = std::env::temp_dir().join(format!("ripstop-files-{}.csv", std::process::id()));
    // Two files of the same hours: more requests than a reader holds back.
    let mut log = String::from("time_ms,operation,bytes\n");
    for _ in 0..2 {
        (0..70_000).for_each(|at| writeln!(log, "{},get,{}", at * 10, 1 + at % 2).unwrap());
    }
    std::fs::write(&path, log).unwrap();
    let read = Workload::read(&path, &WorkloadOptions::default());
    std::fs::remove_file(&path).unwrap();
    let (workload, summary) = read.unwrap();
    assert_eq!((workload.stripes.len(), summary.out_of_order), (140_000, 69_999));
    assert!(workload.stripes.is_sorted_by_key(|stripe| stripe.0));
}

#[cfg(unix)]
#[test]
fn a_log_is_read_once_and_may_be_a_pipe() {
    use std::{io::Write as _, os::fd::AsRawFd as _};
    let (pipe, mut end) = std::io::pipe().unwrap();
    end.write_all(b"time_s,operation,bytes\n0,read,10\n0,read,10\n1,read,8\n").unwrap();
    drop(end);
    let path = format!("/dev/fd/{}", pipe.as_raw_fd());
    let (workload, summary) =
        Workload::read(Path::new(&path), &WorkloadOptions::default()).unwrap();
    assert_eq!((workload.stripes.len(), summary.spread), (3, Spread::Random { seed: SPREAD_SEED }));
}

#[test]
fn times_that_no_clock_has_are_refused() {
    let year = 31_536_000_000;
    let long = [(0, Read, 5), (30 * year, Read, 5)];
    let with = |speed| {
        Workload::of(&asked(&long), None, &WorkloadOptions { speed, ..WorkloadOptions::default() })
    };
    assert!(matches!(with(0.5), Err(WorkloadError::TooLong { .. })));
    let once = with(1.0).unwrap();
    assert_eq!(once.repeated(1_000_000).stripes.len(), 2, "there is no time for more");
    let huge = [(0, Read, u64::MAX), (1, Read, u64::MAX)];
    let options = WorkloadOptions { stripe_max: 1, ..WorkloadOptions::default() };
    let refused = Workload::of(&asked(&huge), None, &options);
    assert!(matches!(refused, Err(WorkloadError::TooLarge)));
}
