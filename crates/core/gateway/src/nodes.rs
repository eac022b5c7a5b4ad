use crate::{Action, Machine, Outcome, Report};

impl Machine {
    /// What the end of a task says of its node.
    pub(crate) fn note_health(&mut self, node: u16, request: u32, outcome: Outcome) {
        match outcome {
            Outcome::Done | Outcome::Missing | Outcome::Damaged => self.nodes.answered(node),
            Outcome::Refused => {
                self.nodes.answered(node);
                if self.requests.table[request].is_write() {
                    self.nodes.refused(node, self.now + self.settings.probe_every);
                }
            }
            Outcome::Unavailable => {
                if self.nodes.failed(node) >= self.settings.failures_to_down {
                    self.node_down(node);
                }
            }
            Outcome::Cancelled => {}
        }
    }

    pub(crate) fn node_up(&mut self, node: u16) {
        if self.nodes.set_up(node, true) {
            self.probes.stop(u32::from(node));
            self.report_node(node, true);
        }
    }

    /// Takes a node out of service. Its running tasks go on; those that wait for it fail.
    pub(crate) fn node_down(&mut self, node: u16) {
        if !self.nodes.set_up(node, false) {
            return;
        }
        self.probes.start(self.now, u32::from(node));
        self.report_node(node, false);
        while let Some(task) = self.tasks.queues.first(node) {
            self.task_stranded(task);
        }
        self.fail_impossible();
    }

    fn report_node(&mut self, node: u16, up: bool) {
        let node = self.nodes[node].id();
        self.actions.push(Action::Report(Report::Node { node, up }));
    }

    /// Asks a node that is down how it is, and will again.
    pub(crate) fn probe(&mut self, node: u16) {
        self.probes.start(self.now, u32::from(node));
        self.actions.push(Action::Probe(self.nodes[node].id()));
    }
}
