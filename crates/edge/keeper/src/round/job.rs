use super::{ASK_AGAIN_AFTER, Halt, Pace, Round};
use crate::Keeper;
use std::time::Duration;

/// What is done in a round that comes again.
pub(crate) trait Job: Send + 'static {
    /// What it is called in the log.
    const NAME: &'static str;
    /// Whether only the gateway that has the upkeep does it.
    const IS_UPKEEP: bool;

    /// How long it rests before its next turn, and before its first.
    fn pause(&mut self) -> Duration;

    /// Whether there is anything to do. The lease is asked for only then.
    fn is_due(&mut self, _keeper: &Keeper) -> Result<bool, Halt> {
        Ok(true)
    }

    /// Does it once.
    fn turn(&mut self, round: &Round) -> impl Future<Output = Result<(), Halt>> + Send;

    /// Another gateway does it.
    fn stand_aside(&mut self, _keeper: &Keeper) {}
}

/// Begins a job that goes on until it is unwanted, at the latest when the keeper is gone.
pub(crate) fn begin<J: Job>(keeper: &Keeper, job: J) {
    begin_at(keeper, Pace::free(), job);
}

/// The same at a pace.
pub(crate) fn begin_at<J: Job>(keeper: &Keeper, pace: Pace, job: J) {
    let round = Round { owner: keeper.owner(), is_upkeep: J::IS_UPKEEP, pace };
    ripstop_host::spawn(go_round(round, job));
}

/// What came of a turn.
enum Turn {
    Done,
    /// It was not begun: another gateway has the lease.
    Aside,
}

async fn go_round<J: Job>(round: Round, mut job: J) {
    let mut rest_min = Duration::ZERO;
    loop {
        let pause = job.pause().max(rest_min);
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        rest_min = match turn(&round, &mut job).await {
            Ok(Turn::Done) => Duration::ZERO,
            Ok(Turn::Aside) => ASK_AGAIN_AFTER,
            Err(Halt::Unwanted) => return,
            Err(Halt::Failed(error)) => {
                tracing::warn!(round = J::NAME, %error, "a round broke off");
                ASK_AGAIN_AFTER
            }
        };
    }
}

async fn turn<J: Job>(round: &Round, job: &mut J) -> Result<Turn, Halt> {
    let keeper = round.keeper()?;
    if !job.is_due(&keeper)? {
        return Ok(Turn::Done);
    }
    if J::IS_UPKEEP && !keeper.has_upkeep().await? {
        job.stand_aside(&keeper);
        return Ok(Turn::Aside);
    }
    drop(keeper);
    job.turn(round).await?;
    Ok(Turn::Done)
}
