use super::*;
use expect_test::{Expect, expect};

/// What a parser makes of lines, one a line.
fn check(parser: &Parser, lines: &[&str], expected: &Expect) {
    let mut found = String::new();
    for line in lines {
        let said = match parser.parse(line) {
            Ok(Line::Request(request)) => {
                let Request { time_ns, operation, bytes, key, tenant } = request;
                let key = key.map_or_else(String::new, |key| format!("{key:016x}"));
                format!("{time_ns} {operation:?} {bytes} {key} {}", tenant.unwrap_or_default())
            }
            Ok(Line::Failed) => "failed".into(),
            Ok(Line::Ignored) => "ignored".into(),
            Err(bad) => bad.to_string(),
        };
        found += &said;
        found.push('\n');
    }
    expected.assert_eq(&found);
}

/// A line of an S3 log.
fn s3_line(operation: &str, status: &str, sent: &str, size: &str) -> String {
    format!(
        "79a59df900b949e55d96a1e698fbaced DOC-EXAMPLE [06/Feb/2019:00:00:38 +0000] 192.0.2.3 arn:x:y \
         3E57427F3EXAMPLE {operation} photos/a%20b.jpg \"GET /DOC-EXAMPLE/photos/a b.jpg?x=\"q HTTP/1.1\" \
         {status} - {sent} {size} 7 - \"-\" \"S3Console/0.4 \"odd\"\" - s9lzHYrFp76ZVxRcpX9 SigV4 TLS_AES \
         AuthHeader s3.example.com TLSv1.3 - -"
    )
}

#[test]
fn s3_logs_are_read() {
    let lines = [
        s3_line("REST.GET.OBJECT", "200", "113", "5000"),
        s3_line("REST.GET.OBJECT", "206", "-", "5000"),
        s3_line("WEBSITE.GET.OBJECT", "304", "-", "5000"),
        s3_line("REST.PUT.OBJECT", "200", "-", "5000"),
        s3_line("REST.PUT.PART", "200", "-", "5242880"),
        s3_line("REST.PUT.OBJECT", "200", "-", "5000").replace("?x=\"q", "?x=\"q\" \"r\""),
        s3_line("REST.GET.OBJECT", "404", "243", "-"),
        s3_line("REST.HEAD.OBJECT", "200", "-", "5000"),
        s3_line("REST.COPY.OBJECT", "200", "234", "5000"),
        s3_line("BATCH.DELETE.OBJECT", "204", "-", "5000"),
        s3_line("REST.PUT.OBJECT", "200", "-", "many"),
        s3_line("REST.PUT.OBJECT", "OK", "-", "1"),
        s3_line("REST.PUT.OBJECT", "-", "-", "1"),
        s3_line("GET", "200", "-", "1"),
        "owner bucket [06/Feb/2019:00:00:38 +0000] - - id S3.EXPIRE.OBJECT key \"-\" - - - 5"
            .into(),
        "owner bucket [06/Feb/2019:00:00:38 +0000] - - id REST.GET.OBJECT key - 200 - 7 7".into(),
        "owner bucket [06/Feb/2019:00:00:38] - - id REST.GET.OBJECT key - 200 - 7 7".into(),
        "owner bucket [06/Feb/2019:00:00:38 - - id REST.GET.OBJECT key - 200 - 7 7".into(),
        "owner bucket [06/Feb/2019:00:00:38 +0000] - - id REST.GET.OBJECT key \"GET / 200 - 7 7"
            .into(),
        "owner bucket [06/Feb/2019:00:00:38 +0000] - - id REST.GET.OBJECT key - 200 - 7".into(),
        "owner bucket".into(),
        "  ".into(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    check(
        &Parser::S3,
        &lines,
        &expect![[r#"
        1549411238000000000 Read 113 6eb310c814140e47 arn:x:y
        1549411238000000000 Read 0 6eb310c814140e47 arn:x:y
        ignored
        1549411238000000000 Write 5000 6eb310c814140e47 arn:x:y
        1549411238000000000 Write 5242880 6eb310c814140e47 arn:x:y
        1549411238000000000 Write 5000 6eb310c814140e47 arn:x:y
        failed
        ignored
        ignored
        ignored
        object size is "many", not a whole number
        status is "OK", not a whole number
        ignored
        operation is "GET", not one of S3's, such as REST.GET.OBJECT
        ignored
        1549411238000000000 Read 7 76cc2447da1a1c9a 
        time is "06/Feb/2019:00:00:38", not a time like 06/Feb/2019:00:00:38 +0000, since 1970
        a quoted field does not end
        a quoted field does not end
        has no object size
        has no time
        has no owner
    "#]],
    );
}

/// A line of Ripstop's access log.
fn entry(operation: &str, status: u16, tail: &str) -> String {
    format!(
        r#"{{"timestamp":"2026-11-21T23:59:59.123456Z","level":"INFO","target":"ripstop_s3::access","message":"answered","request_id":"r1","method":"GET","path":"/b/k","operation":"{operation}","status":{status},"received":10,"sent":20,"duration_us":1000{tail}}}"#
    )
}

#[test]
fn logs_of_ripstop_are_read() {
    let lines = [
        entry("GetObject", 200, r#","broken":false"#),
        entry("PutObject", 200, r#","broken":false,"tenant":"m\u00fcller""#),
        entry("UploadPart", 200, ""),
        entry("GetObject", 206, r#","broken":true"#),
        entry("GetObject", 503, ""),
        entry("GetObject", 304, ""),
        entry("HeadObject", 200, ""),
        entry("CopyObject", 200, ""),
        r#"{"timestamp":"x","target":"ripstop_store","status":"up","operation":7}"#.into(),
        r#"{"target":"ripstop_s3::access"}"#.into(),
        r#"{"level":"INFO"}"#.into(),
        entry("GetObject", 200, "").replace("2026-11", "2026-13"),
        entry("GetObject", 200, "")
            .replace("2026-11-21", "1970-01-01")
            .replace("1000}", "99999999999}"),
        entry("GetObject", 200, "").replace('}', ""),
        "23:59:59 INFO answered".into(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    check(
        &Parser::Ripstop,
        &lines,
        &expect![[r#"
            1795305599122456000 Read 20 c24c8220b7840af7 
            1795305599122456000 Write 10 c24c8220b7840af7 müller
            1795305599122456000 Write 10 c24c8220b7840af7 
            failed
            failed
            ignored
            ignored
            ignored
            ignored
            is not an access log entry: missing field `timestamp` at column 31
            is not an access log entry: missing field `target` at column 16
            timestamp is "2026-13-21T23:59:59.123456Z", not a time as RFC 3339 has it, since 1970
            duration_us is "99999999999", not a time since 1970
            is not an access log entry: EOF while parsing an object at column 235
            is not an access log entry: invalid type: integer `23`, expected struct Target at column 2
        "#]],
    );
}

#[test]
fn block_traces_are_read() {
    let lines = [
        "0,20941264,8192,W,0.551706",
        "1, 20939840, 512, r, 0.554041, 17",
        "1,20939840,512,x,0.5",
        "1,20939840,-1,r,0.5",
        "one,20939840,1,r,0.5",
        "1,,1,r,0.5",
        "1,2,3,r",
        "",
    ];
    check(
        &Parser::Spc,
        &lines,
        &expect![[r#"
        551706000 Write 8192 e1594b83473e075b 0
        554041000 Read 512 a45230b618132b87 1
        opcode is "x", not R or W
        size is "-1", not a whole number
        device is "one", not a whole number
        LBA is "", not a whole number
        has no timestamp
        has no LBA
    "#]],
    );
    let lines = [
        "11413000 0 657728 16 1",
        "  11565000\t1 31244784 64 0  0",
        "1.5 0 1 1 1",
        "1 0 1 36028797018963968 1",
        "1 0 1 1 2",
        "1 0 x 1 1",
        "1 0 1 1",
    ];
    check(
        &Parser::Sectors,
        &lines,
        &expect![[r#"
        11413000 Read 8192 a1ccc7f25ed274b3 0
        11565000 Write 32768 8fce5fa49a10a827 1
        time is "1.5", not nanoseconds
        sectors is "36028797018963968", not possible
        type is "2", not 1 (read) or 0 (write)
        LBA is "x", not a whole number
        has no type
    "#]],
    );
}

/// A parser that has read this header.
fn csv(header: &str) -> Parser {
    let mut parser = Parser::new(Format::Csv);
    assert_eq!(parser.take_header(header), Ok(true));
    assert_eq!(parser.take_header("1"), Ok(false));
    parser
}

#[test]
fn csv_is_read_by_the_names_of_its_columns() {
    let lines = [
        "get,1.5,3000,,",
        "PUT,0,4096,\"a \"\"b\"\", c\",\"t, u\"",
        "Read , 2 ,7,#00000000000000ff,\" t\"",
        "read,2,7,#ff,t",
        "delete,x,,,",
        "fetch,1,1,,",
        "get,1e3,1,,",
        "get,1,1.5,,",
        "get,1,,,",
        "get,1,1,",
        "get,1,1,,,",
        "get,1,1,\"a,",
        "get,1,1,\"a\"b,c",
    ];
    check(
        &csv("operation,time_s,bytes,key,tenant"),
        &lines,
        &expect![[r#"
        1500000000 Read 3000  
        0 Write 4096 302aaea95fcdb064 t, u
        2000000000 Read 7 00000000000000ff  t
        2000000000 Read 7 0c046765e79c7300 t
        ignored
        operation is "fetch", not read, get, write, put, head, list, delete or copy
        time is "1e3", not a decimal number
        bytes is "1.5", not a whole number
        bytes is "", not a whole number
        has 4 fields, the header 5
        has 6 fields, the header 5
        a quoted field does not end
        a quoted field does not end
    "#]],
    );
    let lines = [
        "x,2019-02-06T00:00:38.5Z,GET,200,1",
        "x,1549411238.25,w,204,2",
        "x,1,r,404,",
        "x,1,r,304,9",
        "x,1,r,,9",
    ];
    check(
        &csv("\"Zone\", Timestamp ,OPERATION,status,bytes"),
        &lines,
        &expect![[r"
        1549411238500000000 Read 1  
        1549411238250000000 Write 2  
        failed
        ignored
        1000000000 Read 9  
    "]],
    );
    for (unit, expected) in [("time_ms", 1_500_000), ("time_us", 1500), ("time_ns", 1)] {
        let parser = csv(&format!("{unit},operation,bytes"));
        let Ok(Line::Request(request)) = parser.parse("1.5,r,1") else { panic!("{unit}") };
        assert_eq!(request.time_ns, expected, "{unit}");
    }
}

#[test]
fn wrong_headers_are_told_what_they_lack() {
    let mut found = String::new();
    for header in [
        "time_s,operation",
        "operation,bytes",
        "time_s,timestamp,operation,bytes",
        "time_s,bytes,bytes,operation",
        "\"time_s",
    ] {
        found += &Parser::new(Format::Csv).take_header(header).unwrap_err();
        found.push('\n');
    }
    expect![[r#"
        has no column "bytes", only "time_s,operation"
        must have exactly one of timestamp, time_s, time_ms, time_us, time_ns
        must have exactly one of timestamp, time_s, time_ms, time_us, time_ns
        names "bytes" twice
        a quoted field does not end
    "#]]
    .assert_eq(&found);
}

#[test]
fn formats_are_told_from_their_first_lines() {
    let of = |lines: &[&str]| Format::of(lines.iter().copied());
    let s3 = s3_line("REST.HEAD.BUCKET", "200", "-", "-");
    assert_eq!(of(&[&s3]), Some(Format::S3));
    assert_eq!(of(&["damaged", &s3]), Some(Format::S3));
    assert_eq!(of(&[r#"{"timestamp":0}"#]), Some(Format::Ripstop));
    assert_eq!(of(&["\"bytes\",operation,time_ms"]), Some(Format::Csv));
    assert_eq!(of(&["Operation,size"]), Some(Format::Csv));
    assert_eq!(of(&["0,20941264,8192,W,0.551706"]), Some(Format::Spc));
    assert_eq!(of(&["11413000 0 657728 16 1"]), Some(Format::Sectors));
    assert_eq!(of(&["GET /index.html", "1,2,3"]), None);
    assert_eq!(of(&[]), None);
}

#[test]
fn formats_have_names() {
    for format in Format::ALL {
        assert_eq!(format.name().parse::<Format>().unwrap(), format);
    }
    let wrong = "pcap".parse::<Format>().unwrap_err().to_string();
    assert_eq!(
        wrong,
        "no trace format is named \"pcap\"; there are: s3, ripstop, csv, spc, sectors"
    );
}
