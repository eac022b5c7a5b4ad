use super::{
    LogFormat,
    line::{self, Fields},
};
use std::io::Write;
use tracing::{
    Event, Subscriber,
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    fmt::MakeWriter,
    layer::Context,
    registry::{LookupSpan, Scope},
};

/// Writes a line for each event.
pub(super) struct Lines<W> {
    format: LogFormat,
    writer: W,
}

impl<W> Lines<W> {
    pub(super) const fn new(format: LogFormat, writer: W) -> Self {
        Self { format, writer }
    }
}

impl<S, W> Layer<S> for Lines<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    /// What is said nearer to the event counts: its own fields before its span's, that before its
    /// parent's.
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        for span in context.event_scope(event).into_iter().flat_map(Scope::from_root) {
            if let Some(outer) = span.extensions().get::<Fields>() {
                fields.inherit(outer);
            }
        }
        event.record(&mut fields);
        let line = line::line(self.format, ripstop_host::wall(), event.metadata(), &fields);
        // Where the log cannot be written, nobody can be told.
        let _ = self.writer.make_writer_for(event.metadata()).write_all(&line);
    }
}
