//! The models by their definition, in relations. Slow, and to be read beside the text of the [module](super).

use super::Model;
use super::relation::{Relation, Set};
use crate::graph::{Event, EventId, Graph, Kind};
use crate::operation::Location;
use raddle_schedule::ThreadId;

/// The events with numbers: first the initial values, by location, then those of the graph.
struct Numbered<'a> {
    graph: &'a Graph,
    ids: Vec<EventId>,
    /// The number of the first event of each thread.
    first: Vec<usize>,
}

impl<'a> Numbered<'a> {
    fn new(graph: &'a Graph) -> Self {
        let mut ids = Vec::new();
        let mut first = Vec::new();
        for thread in (0..graph.thread_count()).map(|thread| ThreadId(thread as u32)) {
            first.push(graph.location_count() + ids.len());
            ids.extend((0..graph.thread(thread).len()).map(|index| EventId::new(thread, index)));
        }
        Self { graph, ids, first }
    }

    fn count(&self) -> usize {
        self.graph.location_count() + self.ids.len()
    }

    fn number(&self, id: EventId) -> usize {
        self.first[id.thread.index()] + id.index as usize
    }

    /// The number of a write to a location, or of its initial value.
    fn write(&self, location: Location, write: Option<EventId>) -> usize {
        write.map_or(location.index(), |write| self.number(write))
    }

    fn id(&self, number: usize) -> Option<EventId> {
        let index = number.checked_sub(self.graph.location_count())?;
        Some(self.ids[index])
    }

    fn event(&self, number: usize) -> Option<&'a Event> {
        self.id(number).map(|id| self.graph.event(id))
    }

    fn location(&self, number: usize) -> Option<Location> {
        match self.event(number) {
            None => Some(Location(number as u32)),
            Some(event) => event.location,
        }
    }

    /// The numbers of the events with a property.
    fn set(&self, has: impl Fn(&Event) -> bool) -> Set {
        Set::new(self.count(), |number| self.event(number).is_some_and(&has))
    }

    /// Program order, in which initial values come first.
    fn po(&self) -> Relation {
        Relation::of(self.count(), |one, other| {
            match (self.id(one), self.id(other)) {
                (None, Some(_)) => true,
                (Some(one), Some(other)) => one.thread == other.thread && one.index < other.index,
                (_, None) => false,
            }
        })
    }

    fn rf(&self) -> Relation {
        let mut rf = Relation::new(self.count());
        for &id in &self.ids {
            let event = self.graph.event(id);
            if let (true, Some(location)) = (event.kind.reads(), event.location) {
                rf.add(self.write(location, event.from), self.number(id));
            }
        }
        rf
    }

    fn mo(&self) -> Relation {
        let mut mo = Relation::new(self.count());
        for location in (0..self.graph.location_count()).map(|index| Location(index as u32)) {
            let writes = self.graph.writes(location).iter().map(|&write| Some(write));
            let all: Vec<_> = std::iter::once(None).chain(writes).collect();
            for (at, &earlier) in all.iter().enumerate() {
                for &later in &all[at + 1..] {
                    mo.add(self.write(location, earlier), self.write(location, later));
                }
            }
        }
        mo
    }

    /// From the start of a thread to its first event and from its last event to those that wait for its end; directly if it has no events.
    fn threads(&self) -> Relation {
        let mut edges = Relation::new(self.count());
        for &id in &self.ids {
            if let (0, Some(spawn)) = (id.index, self.graph.spawned_by(id.thread)) {
                edges.add(self.number(spawn), self.number(id));
            }
            let event = self.graph.event(id);
            if let (Kind::Join, Some(last)) = (event.kind, event.from) {
                edges.add(self.number(last), self.number(id));
            }
        }
        edges
    }
}

impl Model {
    /// Whether a graph is consistent, by the definition.
    #[must_use]
    pub fn defines(self, graph: &Graph) -> bool {
        let events = Numbered::new(graph);
        let size = events.count();
        let identity = Relation::new(size).or_identity();
        let (po, rf, mo) = (events.po(), events.rf(), events.mo());
        let threads = events.threads();
        let rb = rf.inverse().then(&mo).minus(&identity);

        let updates = events.set(|event| event.kind == Kind::Update);
        let is_atomic = {
            let between = mo.then(&mo);
            let immediately = mo.minus(&between);
            let read_by_updates = rf.then(&updates.identity());
            read_by_updates.minus(&immediately).is_empty()
        };
        let porf = po.or(&rf).or(&threads);
        if !is_atomic || !porf.is_acyclic() {
            return false;
        }
        if self == Self::Sc {
            return porf.or(&mo).or(&rb).is_acyclic();
        }

        let fences = events.set(|event| event.kind == Kind::Fence).identity();
        let writes = Set::new(size, |number| {
            events.event(number).is_none_or(|event| event.kind.writes())
        });
        let releasing = |event: &Event| event.kind.writes() || event.kind == Kind::Fence;
        let release = events.set(|event| releasing(event) && event.order.releases());
        let acquiring = |event: &Event| event.kind.reads() || event.kind == Kind::Fence;
        let acquire = events.set(|event| acquiring(event) && event.order.acquires());

        let rs = writes
            .identity()
            .then(&rf.then(&updates.identity()).closure().or_identity());
        let sw = release
            .identity()
            .then(&fences.then(&po).or_identity())
            .then(&rs)
            .then(&rf)
            .then(&po.then(&fences).or_identity())
            .then(&acquire.identity())
            .or(&threads);
        let hb = po.or(&sw).closure();
        let eco = rf.or(&mo).or(&rb).closure();
        if !hb.is_irreflexive() || !hb.then(&eco).is_irreflexive() {
            return false;
        }
        if self == Self::Ra {
            return true;
        }

        let same_location = Relation::of(size, |one, other| {
            let location = events.location(one);
            location.is_some() && location == events.location(other)
        });
        let po_elsewhere = match self {
            Self::Genmc => po.or(&updates.identity()),
            _ => po.minus(&same_location),
        };
        let scb = po
            .or(&po_elsewhere.then(&hb).then(&po_elsewhere))
            .or(&hb.and(&same_location))
            .or(&mo)
            .or(&rb);
        let on_memory = |event: &Event| event.location.is_some() || event.kind == Kind::Fence;
        let esc = events.set(|event| event.order.is_seq_cst() && on_memory(event));
        let fsc = esc.and(&events.set(|event| event.kind == Kind::Fence));
        let (esc, fsc) = (esc.identity(), fsc.identity());
        let psc_base = esc
            .or(&fsc.then(&hb.or_identity()))
            .then(&scb)
            .then(&esc.or(&hb.or_identity().then(&fsc)));
        let psc_fences = fsc.then(&hb.or(&hb.then(&eco).then(&hb))).then(&fsc);
        psc_base.or(&psc_fences).is_acyclic()
    }
}
