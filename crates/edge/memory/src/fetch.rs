//! How what the tier wants to have is fetched, and put together.

use crate::{
    coder::{CHUNK_LEN, Strips},
    connection::Reply,
    gather::{Gather, Purpose},
    queue::Payload,
    state::{Errand, OWN_TICKETS, Servers, State},
};
use bytes::Bytes;
use ripstop_tier::{
    FetchEnd, Fragment, ItemName, ReadPlan, SealId, ServerId, TierEvent, TierTask, TierTicket,
};

impl State {
    pub(crate) fn fetch(
        &mut self,
        servers: &Servers,
        server: ServerId,
        name: ItemName,
        errand: Errand,
    ) {
        let fetched = servers.link(server).get(self.key(servers, server, name), errand);
        self.after.note(server);
        if let Err((_, errand)) = fetched {
            self.fetch_failed(errand, FetchEnd::Silent { server });
        }
    }

    pub(crate) fn fetch_plan(
        &mut self,
        servers: &Servers,
        task: TierTask,
        ticket: TierTicket,
        plan: ReadPlan,
    ) {
        let n = self.coder.code().n();
        let (purpose, strips, fragments) = match plan {
            ReadPlan::Whole(Fragment { server, name, len, .. }) => {
                let errand = Errand::Whole { task, ticket, name, len, is_again: false };
                return self.fetch(servers, server, name, errand);
            }
            ReadPlan::Decode { wanted, sources, len, fragments, .. } => {
                self.decoded += 1;
                let strips = Strips::new(n, len as usize);
                (Purpose::Read { ticket, wanted, sources }, strips, fragments)
            }
            ReadPlan::Join { sources, strip_len, len, fragments } => {
                let is_whole = (0..self.coder.code().k() as u8).eq(sources.iter().copied());
                self.decoded += u64::from(!is_whole);
                self.hold_more(ticket, len as usize);
                let strips = Strips::new(n, strip_len as usize);
                (Purpose::Join { ticket, sources, len }, strips, fragments)
            }
        };
        self.gather(servers, Gather { task, purpose, strips, waiting: fragments.len(), fragments });
    }

    /// Fetches fragments; without any the purpose is fulfilled at once.
    fn gather(&mut self, servers: &Servers, gather: Gather) {
        if gather.waiting == 0 {
            return self.gathered(servers, gather);
        }
        let fragments = gather.fragments.clone();
        let gather = self.gathers.insert(gather);
        for (at, Fragment { server, name, .. }) in (0u16..).zip(fragments) {
            let errand = Errand::Part { gather, at, name, is_again: false };
            self.fetch(servers, server, name, errand);
        }
    }

    pub(crate) fn encode(
        &mut self,
        servers: &Servers,
        task: TierTask,
        stripe: SealId,
        fragments: Vec<Fragment>,
    ) {
        let code = self.coder.code();
        let mut strips = Strips::new(code.k(), CHUNK_LEN);
        // Without parity there is nothing to encode.
        let mut fetched = fragments;
        fetched.retain(|fragment| {
            let kept = self.open.fragment(fragment);
            if let Some(bytes) = kept {
                strips.put(fragment, bytes);
            }
            code.parity() > 0 && kept.is_none()
        });
        let purpose = Purpose::Seal(stripe);
        let waiting = fetched.len();
        self.gather(servers, Gather { task, purpose, strips, fragments: fetched, waiting });
    }

    /// All fragments came.
    fn gathered(&mut self, servers: &Servers, gather: Gather) {
        let Gather { task, purpose, strips, .. } = gather;
        match purpose {
            Purpose::Read { ticket, wanted, sources } => {
                let coded = self.coder.decode(&strips, &sources, wanted);
                self.fetched(ticket, coded);
            }
            Purpose::Join { ticket, sources, len } => {
                let coded = self.coder.join(strips, &sources, len as usize);
                self.fetched(ticket, coded);
            }
            Purpose::Seal(stripe) => {
                let parity = self.coder.encode(&strips);
                let encoded = self.encoded.entry(stripe).or_default();
                let sealed = (self.coder.code().k() as u8..).zip(parity).map(|(strip, bytes)| {
                    let item = Bytes::from([bytes, encoded.list.clone()].concat());
                    (servers.names.seal(ItemName::Parity { stripe, strip }, [&item]), item)
                });
                encoded.parity = sealed.collect();
            }
        }
        self.events.push_back(TierEvent::FetchEnded(task, FetchEnd::Done));
    }

    fn fetched(&mut self, ticket: TierTicket, coded: Bytes) {
        if ticket.0 >= OWN_TICKETS {
            self.own.insert(ticket, coded);
        } else if let Some(call) = self.calls.get_mut(ticket.0) {
            call.fetched = Some(coded);
        }
    }

    /// A server answered what it has of an item, or will not.
    pub(crate) fn fetch_replied(
        &mut self,
        servers: &Servers,
        server: ServerId,
        errand: Errand,
        reply: Reply,
    ) {
        let Some(name) = errand.name() else { unreachable!("it is fetched") };
        match (errand, reply) {
            (Errand::Whole { task, ticket, len, .. }, Reply::Value(coded))
                if coded.len() == len as usize =>
            {
                self.fetched(ticket, coded);
                self.events.push_back(TierEvent::FetchEnded(task, FetchEnd::Done));
            }
            (Errand::Part { gather, at, .. }, Reply::Value(coded))
                if self.gathers.get_mut(gather).is_none_or(|gather| gather.put(at, &coded)) =>
            {
                if self.gathers.get_mut(gather).is_some_and(|gather| gather.waiting == 0)
                    && let Some(gather) = self.gathers.remove(gather)
                {
                    self.gathered(servers, gather);
                }
            }
            (Errand::Copy { task, to, name }, Reply::Value(item)) => {
                let link = servers.link(to);
                let payload = Payload { head: &[], body: &item };
                if self.copies.place(server, name).is_some() {
                    self.copies.give(task, to, name);
                }
                let key = self.key(servers, to, name);
                if link.set(key, &payload, false, Errand::Store(task)).is_err() {
                    self.store_over(task, false);
                }
                self.after.note(to);
            }
            // What is as long as it was not is damaged, like what its seal does not hold for.
            (_, Reply::Value(_) | Reply::Damaged) => {
                self.fetch_failed(errand, FetchEnd::Damaged { server, name });
            }
            (_, Reply::Missing) => self.fetch_failed(errand, FetchEnd::Missing { server, name }),
            (_, Reply::Lost(_)) => self.ask_again(servers, server, errand),
            (_, Reply::Refused(_) | Reply::Done | Reply::NotStored) => {
                self.fetch_failed(errand, FetchEnd::Silent { server });
            }
        }
    }

    /// A connection that broke says nothing of the server: the next one is asked once.
    fn ask_again(&mut self, servers: &Servers, server: ServerId, errand: Errand) {
        let again = match errand {
            Errand::Whole { task, ticket, name, len, is_again: false } => {
                (name, Errand::Whole { task, ticket, name, len, is_again: true })
            }
            Errand::Part { gather, at, name, is_again: false } => {
                (name, Errand::Part { gather, at, name, is_again: true })
            }
            Errand::Whole { .. }
            | Errand::Part { .. }
            | Errand::Store(_)
            | Errand::Delete(_)
            | Errand::Copy { .. }
            | Errand::Probe => {
                return self.fetch_failed(errand, FetchEnd::Silent { server });
            }
        };
        self.fetch(servers, server, again.0, again.1);
    }

    fn fetch_failed(&mut self, errand: Errand, end: FetchEnd) {
        let task = match errand {
            Errand::Whole { task, .. } | Errand::Copy { task, .. } => Some(task),
            // The others that are fetched with it are of no use.
            Errand::Part { gather, .. } => self.gathers.remove(gather).map(|gather| gather.task),
            Errand::Store(_) | Errand::Delete(_) | Errand::Probe => None,
        };
        self.events.extend(task.map(|task| TierEvent::FetchEnded(task, end)));
    }
}
