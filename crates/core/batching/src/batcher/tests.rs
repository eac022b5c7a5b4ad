use super::*;
use crate::{BatchLimits, BatchRefusal, ControllerSettings, KeyMark, WriteTicket, by_name};
use ripstop_model::TenantId;

fn controller(name: &str, interval_ms: u64) -> Box<dyn Controller> {
    let interval = Duration::from_millis(interval_ms);
    by_name(name, &ControllerSettings { interval, ..ControllerSettings::default() }).unwrap()
}

fn at(ms: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_millis(ms)
}

fn member(ticket: u64) -> BatchMember {
    let (key, tenant) = (None, TenantId::ANYBODY);
    BatchMember { ticket: WriteTicket(ticket), key, bytes: 256, tenant, is_conditional: false }
}

fn of_key(ticket: u64, key: u128) -> BatchMember {
    BatchMember { key: Some(KeyMark(key)), ..member(ticket) }
}

fn conditional(ticket: u64, key: u128) -> BatchMember {
    BatchMember { is_conditional: true, ..of_key(ticket, key) }
}

/// A batcher, and what it said last.
struct Scene {
    batcher: Batcher,
    actions: Vec<BatchAction>,
}

impl Scene {
    fn new(settings: BatchSettings, controller: Box<dyn Controller>) -> Self {
        Self { batcher: Batcher::new(settings, controller), actions: Vec::new() }
    }

    fn tell(&mut self, ms: u64, event: BatchEvent) {
        self.actions.clear();
        self.batcher.handle(at(ms), event, &mut self.actions);
    }

    /// Members that depart when one comes.
    fn come(&mut self, ms: u64, member: BatchMember) -> Vec<u64> {
        self.tell(ms, BatchEvent::MemberCame(member));
        self.departed()
    }

    fn departed(&self) -> Vec<u64> {
        let tickets = self.actions.iter().filter_map(|action| {
            let BatchAction::Depart(departure) = action else { return None };
            Some(departure.tickets.iter().map(|it| it.0))
        });
        tickets.flatten().collect()
    }

    /// A batch is stored and committed; members that depart then.
    fn commit(&mut self, ms: u64, batch: u64) -> Vec<u64> {
        self.tell(ms, BatchEvent::BatchStored(BatchId(batch)));
        assert_eq!(self.actions, [BatchAction::Commit(BatchId(batch))]);
        self.tell(ms, BatchEvent::BatchEnded(BatchId(batch), BatchEnd::Committed));
        self.departed()
    }

    fn answers(&self) -> Vec<(u64, Fate)> {
        let answers = self.actions.iter().filter_map(|action| {
            let BatchAction::Answer { ticket, fate } = action else { return None };
            Some((ticket.0, *fate))
        });
        answers.collect()
    }

    fn refused(&self) -> Option<BatchRefusal> {
        self.actions.iter().find_map(|action| {
            let BatchAction::Refuse { why, .. } = action else { return None };
            Some(*why)
        })
    }
}

fn natural() -> Scene {
    Scene::new(BatchSettings::default(), controller("natural", 0))
}

#[test]
fn a_lone_write_leaves_at_once_whatever_the_interval() {
    let mut scene = Scene::new(BatchSettings::default(), controller("fixed", 100));
    assert_eq!(scene.come(0, member(1)), [1]);
    assert!(scene.commit(5, 0).is_empty());
    assert_eq!(scene.come(106, member(2)), [2], "the interval since the last end is over");
}

#[test]
fn what_comes_while_a_batch_is_outstanding_leaves_together_when_it_ends() {
    let mut scene = natural();
    assert_eq!(scene.come(0, member(1)), [1]);
    assert!(scene.come(1, member(2)).is_empty());
    assert!(scene.come(2, member(3)).is_empty());
    assert_eq!(scene.batcher.deadline(), None, "only an end can change anything");
    assert_eq!(scene.commit(5, 0), [2, 3]);
    assert_eq!(scene.answers(), [(1, Fate::Committed)]);
}

#[test]
fn an_interval_runs_from_the_end_before() {
    let mut scene = Scene::new(BatchSettings::default(), controller("fixed", 10));
    scene.come(0, member(1));
    scene.come(1, member(2));
    assert!(scene.commit(5, 0).is_empty());
    assert_eq!(scene.batcher.deadline(), Some(at(15)));
    scene.tell(14, BatchEvent::TimerFired);
    assert!(scene.departed().is_empty(), "too early");
    scene.tell(15, BatchEvent::TimerFired);
    assert_eq!(scene.departed(), [2]);
}

#[test]
fn an_interval_too_short_for_the_timer_is_none_and_others_end_half_a_step_sooner() {
    let coarse = BatchSettings { timer_step: Duration::from_millis(4), ..Default::default() };
    let mut scene = Scene::new(coarse, controller("fixed", 2));
    scene.come(0, member(1));
    scene.come(1, member(2));
    assert_eq!(scene.commit(5, 0), [2]);
    let mut scene = Scene::new(coarse, controller("fixed", 10));
    scene.come(0, member(1));
    scene.come(1, member(2));
    assert!(scene.commit(5, 0).is_empty());
    assert_eq!(scene.batcher.deadline(), Some(at(13)));
    let paid = BatchSettings { puts_per_second_max: Some(100.0), ..coarse };
    let mut scene = Scene::new(paid, controller("natural", 0));
    scene.come(0, member(1));
    scene.come(1, member(2));
    assert!(scene.commit(5, 0).is_empty());
    assert_eq!(scene.batcher.deadline(), Some(at(10)), "what is paid for is not had sooner");
}

#[test]
fn a_full_batch_does_not_wait_for_the_interval_but_for_the_end() {
    let limits = BatchLimits { batch_members_max: 2, ..BatchLimits::default() };
    let settings = BatchSettings { limits, ..BatchSettings::default() };
    let mut scene = Scene::new(settings, controller("fixed", 1000));
    scene.come(0, member(1));
    scene.come(1, member(2));
    assert!(scene.commit(5, 0).is_empty(), "one is not full");
    assert_eq!(scene.come(6, member(3)), [2, 3]);
    assert!((4..8).all(|ticket| scene.come(7, member(ticket)).is_empty()));
    assert_eq!(scene.commit(9, 1), [4, 5], "two of the four: the batch has room for no more");
}

#[test]
fn bytes_fill_a_batch_too() {
    let limits = BatchLimits { batch_bytes_max: 512, ..BatchLimits::default() };
    let settings = BatchSettings { limits, ..BatchSettings::default() };
    let mut scene = Scene::new(settings, controller("natural", 0));
    (1..5).for_each(|ticket| drop(scene.come(0, member(ticket))));
    assert_eq!(scene.commit(1, 0), [2, 3]);
    scene.tell(2, BatchEvent::MemberCame(BatchMember { bytes: 513, ..member(5) }));
    assert_eq!(scene.refused(), Some(BatchRefusal::TooLarge));
}

#[test]
fn the_slides_baseline_departs_whatever_is_outstanding_and_unbatched_writes_leave_alone() {
    let mut scene = Scene::new(BatchSettings::default(), controller("fixed-every", 10));
    assert_eq!(scene.come(0, member(1)), [1]);
    assert!(scene.come(1, member(2)).is_empty());
    scene.tell(10, BatchEvent::TimerFired);
    assert_eq!((scene.departed(), scene.batcher.outstanding()), (Vec::from([2]), 2));
    let mut scene = Scene::new(BatchSettings::default(), controller("none", 0));
    assert!((1..9).all(|ticket| scene.come(0, member(ticket)) == [ticket]));
}

#[test]
fn stages_overlap_and_commits_stay_in_order() {
    let limits = BatchLimits { outstanding_max: 2, ..BatchLimits::default() };
    let settings = BatchSettings { limits, ..BatchSettings::default() };
    let mut scene = Scene::new(settings, controller("natural", 0));
    assert_eq!(
        (scene.come(0, member(1)), scene.come(0, member(2))),
        (Vec::from([1]), Vec::from([2]))
    );
    assert!(scene.come(0, member(3)).is_empty(), "two are outstanding");
    scene.tell(1, BatchEvent::BatchStored(BatchId(1)));
    assert!(scene.actions.is_empty(), "the first is not stored yet");
    scene.tell(1, BatchEvent::BatchEnded(BatchId(1), BatchEnd::Committed));
    assert!(scene.actions.is_empty(), "nobody told it to commit");
    scene.tell(2, BatchEvent::BatchStored(BatchId(0)));
    assert_eq!(scene.actions, [BatchAction::Commit(BatchId(0))]);
    scene.tell(3, BatchEvent::BatchEnded(BatchId(0), BatchEnd::Committed));
    assert_eq!(scene.answers(), [(1, Fate::Committed)]);
    assert!(scene.actions.contains(&BatchAction::Commit(BatchId(1))));
    assert_eq!(scene.departed(), [3]);
}

#[test]
fn a_batch_that_fails_answers_its_members_and_does_not_hold_up_the_next() {
    let mut scene = natural();
    scene.come(0, of_key(1, 7));
    scene.come(0, of_key(2, 8));
    scene.come(0, of_key(3, 8));
    scene.tell(1, BatchEvent::BatchEnded(BatchId(0), BatchEnd::Failed));
    assert_eq!(
        (scene.answers(), scene.departed()),
        (Vec::from([(1, Fate::Failed)]), Vec::from([3]))
    );
    scene.tell(2, BatchEvent::BatchEnded(BatchId(1), BatchEnd::Failed));
    assert_eq!(scene.answers(), [(2, Fate::Failed), (3, Fate::Failed)], "the collapsed one too");
}

#[test]
fn a_later_write_of_a_key_drops_the_earlier_ones_bytes_and_both_are_answered_in_order() {
    let mut scene = natural();
    scene.come(0, member(1));
    scene.come(0, of_key(2, 7));
    scene.come(0, of_key(3, 8));
    scene.tell(0, BatchEvent::MemberCame(of_key(4, 7)));
    assert_eq!(scene.actions, [BatchAction::Drop(WriteTicket(2))]);
    assert_eq!(scene.commit(1, 0), [4, 3], "in the place of the one that it replaces");
    scene.commit(2, 1);
    let fates = [(2, Fate::Collapsed), (4, Fate::Committed), (3, Fate::Committed)];
    assert_eq!(scene.answers(), fates);
}

#[test]
fn a_conditional_write_is_a_barrier() {
    let mut scene = natural();
    scene.come(0, member(1));
    for member in [of_key(2, 7), conditional(3, 7), of_key(4, 7), of_key(5, 7), conditional(6, 7)] {
        scene.come(0, member);
    }
    assert_eq!(scene.commit(1, 0), [2], "what the condition may observe leaves before it");
    assert_eq!(scene.commit(2, 1), [3]);
    assert_eq!(scene.commit(3, 2), [5], "behind the barrier they collapse again");
    assert_eq!(scene.commit(4, 3), [6]);
    scene.commit(5, 4);
    assert_eq!(scene.batcher.outstanding(), 0);
}

#[test]
fn where_versions_are_kept_each_write_leaves_and_no_batch_has_two_of_a_key() {
    let settings = BatchSettings { collapse: false, ..BatchSettings::default() };
    let mut scene = Scene::new(settings, controller("natural", 0));
    scene.come(0, member(1));
    scene.come(0, of_key(2, 7));
    scene.come(0, of_key(3, 7));
    assert_eq!((scene.commit(1, 0), scene.commit(2, 1)), (Vec::from([2]), Vec::from([3])));
}

#[test]
fn one_tenants_write_does_not_drop_anothers_bytes() {
    let mut scene = natural();
    scene.come(0, member(1));
    scene.come(0, of_key(2, 7));
    scene.come(0, BatchMember { tenant: TenantId(3), ..of_key(3, 7) });
    assert_eq!((scene.commit(1, 0), scene.commit(2, 1)), (Vec::from([2]), Vec::from([3])));
}

#[test]
fn what_waits_is_bounded_and_more_is_refused() {
    let limits = BatchLimits {
        waiting_members_max: 3,
        waiting_bytes_max: 1000,
        key_waiting_max: 2,
        ..BatchLimits::default()
    };
    let settings = BatchSettings { limits, ..BatchSettings::default() };
    let mut scene = Scene::new(settings, controller("natural", 0));
    scene.come(0, member(1));
    scene.come(0, of_key(2, 7));
    scene.come(0, conditional(3, 7));
    scene.come(0, conditional(4, 7));
    assert_eq!(scene.refused(), Some(BatchRefusal::KeyFull));
    scene.come(0, BatchMember { bytes: 600, ..member(5) });
    assert_eq!(scene.refused(), Some(BatchRefusal::Full), "the bytes");
    scene.come(0, member(6));
    assert_eq!(scene.refused(), None);
    scene.come(0, member(7));
    assert_eq!(scene.refused(), Some(BatchRefusal::Full), "the members");
    assert_eq!(scene.commit(1, 0), [2, 6]);
}

#[test]
fn a_budget_for_puts_spaces_departures_and_a_lone_write_still_leaves_at_once() {
    let settings = BatchSettings { puts_per_second_max: Some(10.0), ..BatchSettings::default() };
    let mut scene = Scene::new(settings, controller("natural", 0));
    assert_eq!(scene.come(0, member(1)), [1]);
    scene.come(1, member(2));
    assert!(scene.commit(5, 0).is_empty());
    assert_eq!(scene.batcher.deadline(), Some(at(100)));
    scene.tell(100, BatchEvent::TimerFired);
    assert_eq!(scene.departed(), [2]);
    scene.commit(105, 1);
    assert_eq!(scene.come(500, member(3)), [3]);
}
