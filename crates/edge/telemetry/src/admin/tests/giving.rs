//! Buckets are given away by who may do anything anyway.

use super::{Served, admin};
use crate::{Admin, AdminSettings, AdminToken, GiveBucket, NotGiven};
use std::sync::{Arc, Mutex};

type Given = Arc<Mutex<Vec<(String, String)>>>;

/// A port that notes what is given away, of a store with one bucket and one account.
async fn served(settings: AdminSettings) -> (Given, Served) {
    let given = Given::default();
    let noted = given.clone();
    let give: GiveBucket = Arc::new(move |bucket, account| {
        let done = match (&*bucket, &*account) {
            ("photos", "" | "ann") => {
                noted.lock().unwrap().push((bucket, account));
                Ok(())
            }
            ("photos", _) => Err(NotGiven::NoAccount),
            ("stuck", _) => Err(NotGiven::Unable),
            _ => Err(NotGiven::NoBucket),
        };
        Box::pin(async { done })
    });
    (given, Served::by(Admin { give: Some(give), ..admin(None) }, settings).await)
}

const TOKEN: &str = "a-token-of-32-characters-or-more";

#[tokio::test]
async fn a_bucket_is_given_by_whoever_has_the_token() {
    let token = Some(AdminToken::new(TOKEN));
    let (given, served) = served(AdminSettings { token, ..AdminSettings::default() }).await;
    let headers = format!("host: localhost\r\nauthorization: Bearer {TOKEN}\r\n");
    for (asked, status) in [
        ("photos/owner?account=ann", 204),
        ("photos/owner", 204),
        ("photos/owner?account=bob", 400),
        ("photos/owner?user=ann", 400),
        ("none/owner?account=ann", 404),
        ("stuck/owner?account=ann", 503),
    ] {
        let (told, answer) = served.ask(&format!("POST /buckets/{asked}"), &headers).await;
        assert_eq!(told, status, "{asked}: {answer}");
    }
    let noted = [("photos".to_owned(), "ann".to_owned()), ("photos".to_owned(), String::new())];
    assert_eq!(*given.lock().unwrap(), noted);
    let refused = served.ask("POST /buckets/photos/owner", "host: localhost\r\n").await;
    assert_eq!(refused.0, 401, "{}", refused.1);
}

#[tokio::test]
async fn a_port_without_a_token_gives_nothing_away() {
    let (given, served) = served(AdminSettings::default()).await;
    let refused = served.ask("POST /buckets/photos/owner", "host: localhost\r\n").await;
    assert_eq!(refused.0, 403, "{}", refused.1);
    assert!(given.lock().unwrap().is_empty());
}
