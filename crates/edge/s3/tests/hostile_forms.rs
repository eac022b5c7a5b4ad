//! Forms that mean harm, or come in a way that none should.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/form.rs"]
mod form;

use client::{Call, exchange};
use form::{Face, Form, text};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

/// The head of a form of this length.
fn head(len: usize) -> String {
    let call = Call::new("POST", "/bkt").header("content-type", "multipart/form-data; boundary=b");
    call.header("content-length", len).unsigned()
}

#[tokio::test]
async fn forms_that_end_early_store_nothing() {
    let face = Face::new().await;
    let form = Form::new("k", &b"\r\n--\r\n-".repeat(300)).signed().bytes();
    let closing = form.len() - "--b--\r\n".len();
    for cut in (0..closing).step_by(97).chain([closing - 1]) {
        // It is all that was announced.
        let answer = exchange(face.to, &[head(cut).as_bytes(), &form[..cut]], false).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "MalformedPOSTRequest"), "{cut}");
        if cut % 5 == 0 {
            // The connection ends before that.
            drop(exchange(face.to, &[head(form.len()).as_bytes(), &form[..cut]], true).await);
        }
    }
    assert_eq!(face.keys().await, [""; 0]);
}

#[tokio::test]
async fn a_form_may_come_in_pieces_of_any_length() {
    let face = Face::new().await;
    let form = Form::new("k", b"\r\n--\r\n-b\r\r\n--").signed().bytes();
    for step in [1, 2, 3, 7] {
        let mut stream = TcpStream::connect(face.to).await.unwrap();
        stream.set_nodelay(true).unwrap();
        stream.write_all(head(form.len()).as_bytes()).await.unwrap();
        for piece in form.chunks(step) {
            stream.write_all(piece).await.unwrap();
            tokio::task::yield_now().await;
        }
        let answer = client::read_answer(&mut stream, false).await;
        assert_eq!(answer.status, 204, "{step}: {}", text(&answer));
        assert_eq!(face.get("k").await.body, b"\r\n--\r\n-b\r\r\n--");
    }
}

#[tokio::test]
async fn what_comes_before_the_file_is_bounded() {
    let face = Face::new().await;
    let signed = Form::new("k", b"x").signed();
    let many = (0..100_000).fold(String::new(), |form, at| {
        form + &format!("--b\r\nContent-Disposition: form-data; name=\"{at}\"\r\n\r\n\r\n")
    });
    let forms = [
        many.into_bytes(),
        vec![b'x'; 1 << 20],
        b"\r\n--".repeat(100_000),
        format!("--b\r\nContent-Disposition: form-data; name=\"{}\"\r\n\r\n", "n".repeat(1 << 20))
            .into_bytes(),
        signed.clone().field("x-ignore-a", &"v".repeat(20 << 10)).bytes(),
        [
            b"--b\r\nContent-Disposition: form-data; name=\"v\"\r\n\r\n".to_vec(),
            vec![b'v'; 1 << 20],
        ]
        .concat(),
        [b"--b\r\n".to_vec(), b"a: b\r\n".repeat(100_000)].concat(),
    ];
    for form in forms {
        let answer = face.post("/bkt", &form).await;
        let told = (answer.status, answer.code());
        let shown = String::from_utf8_lossy(&form[..form.len().min(60)]).into_owned();
        assert_eq!(told, (400, "MaxPostPreDataLengthExceededError".to_owned()), "{shown}");
    }
    let twice = [signed.bytes()[..].to_vec()].concat();
    let twice =
        [b"--b\r\nContent-Disposition: form-data; name=\"KEY\"\r\n\r\nother\r\n".to_vec(), twice]
            .concat();
    assert_eq!(face.post("/bkt", &twice).await.code(), "InvalidArgument");
    assert_eq!(face.keys().await, [""; 0]);
    // As much as there may be is taken.
    let most = signed.fields.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
    let fill = "v".repeat((20 << 10) - most - "x-ignore-a".len());
    assert_eq!(face.send(&signed.field("x-ignore-a", &fill)).await.status, 204);
}
