//! Parts of a bucket's configuration, as the table of them says.

use super::{
    Desk, Operate, Outcome, Reply, Request,
    settings::{Setting, Stands, named_setting},
};
use crate::{FrontSettings, error::Code};
use http::StatusCode;

pub(super) struct Get {
    bucket: String,
    setting: Option<&'static Setting>,
    /// Of several of its kind, which have names.
    one_of_several: bool,
}

impl Operate for Get {
    /// Makes the setting's document.
    type Done = fn() -> String;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self {
            bucket: request.bucket.clone(),
            setting: named_setting(&request.query),
            one_of_several: request.query.has("id"),
        })
    }

    async fn run(self, desk: &Desk) -> Outcome<fn() -> String> {
        desk.store.bucket(&self.bucket).await?;
        match self.setting.map(|setting| &setting.stands) {
            Some(Stands::Fixed(document)) => Ok(*document),
            Some(Stands::Absent(code)) => Err((*code).into()),
            Some(Stands::NoneOfSeveral) if self.one_of_several => {
                Err(Code::NoSuchConfiguration.into())
            }
            Some(Stands::NoneOfSeveral) | None => Err(Code::NotImplemented.into()),
        }
    }

    fn render(document: fn() -> String, _: &FrontSettings) -> Reply {
        Reply::document(document())
    }
}

/// What is not there is removed already.
pub(super) struct Delete {
    bucket: String,
}

impl Operate for Delete {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        desk.store.bucket(&self.bucket).await?;
        Ok(())
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }
}
