//! How fast lines are read.

use ripstop_trace::{Options, Reader};
use std::{fmt::Write, io::Cursor, time::Instant};

#[test]
#[ignore = "measures: run it alone, in the release profile"]
fn ten_million_lines_take_less_than_ten_seconds() {
    const LINES: u64 = 2_000_000;
    let mut texts = [
        ("csv", "time_s,operation,bytes,key,tenant\n".to_owned()),
        ("spc", String::new()),
        ("sectors", String::new()),
        ("s3", String::new()),
        ("ripstop", String::new()),
    ];
    for line in 0..LINES {
        let (seconds, micros) = (line / 1000, line % 1000 * 1000);
        let block = line * 7919 % 1_000_003;
        let [csv, spc, sectors, s3, ripstop] = &mut texts;
        writeln!(csv.1, "{seconds}.{micros:06},read,{block},objects/{block},t{}", line % 4)
            .unwrap();
        writeln!(spc.1, "{},{block},8192,R,{seconds}.{micros:06}", line % 4).unwrap();
        writeln!(sectors.1, "{seconds}{micros:06}000 {} {block} 16 1", line % 4).unwrap();
        if line % 4 == 0 {
            writeln!(s3.1, "79a59df900b949e55d96a1e698fbaced bucket [06/Feb/2019:00:{:02}:{:02} +0000] 192.0.2.3 arn:x 3E57427F3EXAMPLE REST.GET.OBJECT k{block} \"GET /bucket/k{block} HTTP/1.1\" 200 - 113 5000 7 5 \"-\" \"agent/0.4\" - s9lz SigV4 TLS AuthHeader s3.example.com TLSv1.3 - -", seconds / 60 % 60, seconds % 60).unwrap();
            writeln!(ripstop.1, r#"{{"timestamp":"2026-11-21T23:{:02}:{:02}.{micros:06}Z","level":"INFO","target":"ripstop_s3::access","message":"answered","broken":false,"duration_us":1000,"method":"GET","operation":"GetObject","path":"/b/k{block}","received":0,"request_id":"r{line}","sent":20,"status":200}}"#, seconds / 60 % 60, seconds % 60).unwrap();
        }
    }
    for (name, text) in texts {
        let lines = text.lines().count() as u64;
        let begun = Instant::now();
        let mut reader = Reader::from_reader(Cursor::new(text), None, Options::default()).unwrap();
        reader.by_ref().for_each(|record| drop(record.unwrap()));
        let seconds = begun.elapsed().as_secs_f64();
        assert!(reader.summary().records() >= lines - 1);
        println!("{name}: {:.3} us a line", seconds / lines as f64 * 1e6);
        let limit = if name == "s3" || name == "ripstop" { 5.0 } else { 1.0 };
        assert!(seconds / (lines as f64) < limit * 1e-6, "{name}");
    }
}
