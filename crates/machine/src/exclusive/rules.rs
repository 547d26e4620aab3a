//! The declared disciplines, as a rule for every location that has one.

use std::ops::Range;

use raddle_explore::Location;
use raddle_lang::hir::{self, Discipline, Expr, ExprKind, Place, PlaceBase, Projection, Type};

use super::Part;
use crate::native::{self, Declared};
use crate::op::Pc;
use crate::program::{Layout, Program};
use crate::state::State;
use crate::word::{self, Reference};

/// What gives a thread exclusive access to a location.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// Holding the lock in this global slot.
    Lock(u32),
    /// Holding the lock at this offset of the same element of the same heap object.
    Sibling(u32),
    /// Having been the first to access it. The ghost word in this slot says who that was.
    First { ghost: u32 },
    /// That the condition holds for this part: a position in [`Rules::parts`].
    When(u32),
}

/// The rules of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    globals: Vec<Option<Rule>>,
    /// For every layout, from the start of an element.
    layouts: Vec<Vec<Option<Rule>>>,
    /// What `exclusive` declarations are about, one by one.
    pub(super) parts: Vec<ExclusivePart>,
    pub(super) predicates: Vec<Predicate>,
    /// How many ghost words there are; they are behind the globals.
    pub(crate) ghosts: usize,
}

/// A variable or an element that an `exclusive` declaration is about.
#[derive(Clone, Debug)]
pub(super) struct ExclusivePart {
    /// Which declaration it is.
    pub(super) predicate: usize,
    pub(super) slot: u32,
    pub(super) indices: Vec<i64>,
}

/// The condition of an `exclusive` declaration.
#[derive(Clone, Debug, Default)]
pub(super) struct Predicate {
    pub(super) pc: Pc,
    /// The parts that it is about.
    pub(super) parts: Range<usize>,
    /// The slots of the globals that it mentions, first and end.
    globals: Vec<(u32, u32)>,
    /// Whether it reads through references: that can be anything.
    anything: bool,
}

/// What a thread needs in order to access a location.
#[derive(Clone, Copy, Debug)]
pub(super) enum Need {
    /// The lock in this word of the state, and a reference to it.
    Lock { cell: usize, reference: i64 },
    /// That this word of the state is the thread, or nobody yet.
    First { cell: usize },
    /// That the predicate holds for this part.
    When { part: usize },
}

impl Rules {
    pub(crate) fn new(program: &hir::Program, layouts: &[Layout], predicates: &[Pc]) -> Self {
        let mut rules = Self {
            globals: vec![None; program.initial.len()],
            ..Self::default()
        };
        let mut first_ghost = program.initial.len() as u32;
        for global in &program.globals {
            let mut builder = Builder {
                program,
                rules: &mut rules.globals,
                on_heap: false,
                next_ghost: first_ghost,
            };
            let discipline = global.discipline.as_ref();
            builder.declared(discipline, &global.ty, global.slot, 0, None);
            first_ghost = builder.next_ghost;
        }
        rules.ghosts = first_ghost as usize - program.initial.len();
        for layout in layouts {
            let mut of_layout = vec![None; layout.slots as usize];
            let mut builder = Builder {
                program,
                rules: &mut of_layout,
                on_heap: true,
                next_ghost: 0,
            };
            builder.part(&layout.ty, 0, None);
            rules.layouts.push(of_layout);
        }
        for (number, exclusive) in program.exclusives.iter().enumerate() {
            let mut predicate = Predicate {
                pc: predicates[number],
                ..Predicate::default()
            };
            predicate.mentions(program, &exclusive.condition);
            let first_part = rules.parts.len();
            let start = program.globals[exclusive.global.0 as usize].slot;
            for (offset, indices) in exclusive.parts() {
                let slot = start + offset;
                for slot in slot..slot + exclusive.slots {
                    rules.globals[slot as usize] = Some(Rule::When(rules.parts.len() as u32));
                }
                rules.parts.push(ExclusivePart {
                    predicate: number,
                    slot,
                    indices,
                });
            }
            predicate.parts = first_part..rules.parts.len();
            rules.predicates.push(predicate);
        }
        // Synchronisation objects need no protection.
        for global in &program.globals {
            forget_synchronisation(program, &global.ty, global.slot, &mut rules.globals);
        }
        rules
    }

    /// Whether there are any.
    pub(crate) fn are_there(&self) -> bool {
        let mut all = self.layouts.iter().chain([&self.globals]).flatten();
        all.any(Option::is_some)
    }

    /// Whether there are any for heap objects.
    pub(crate) fn are_on_heap(&self) -> bool {
        self.layouts.iter().flatten().any(Option::is_some)
    }

    /// What is declared for each global slot, and for each slot of the elements of each layout.
    pub(crate) fn declared(&self) -> Declared {
        let of = |rules: &Vec<Option<Rule>>| -> Vec<Option<native::Rule>> {
            let rule = |rule: &Rule| match *rule {
                Rule::Lock(slot) => native::Rule::Lock(slot),
                Rule::Sibling(offset) => native::Rule::Sibling(offset),
                Rule::First { ghost } => native::Rule::First { ghost },
                Rule::When(_) => native::Rule::When,
            };
            rules.iter().map(|of| of.as_ref().map(rule)).collect()
        };
        let decides = |slot: usize| {
            let location = Location(slot as u64);
            let mut predicates = self.predicates.iter();
            predicates.any(|predicate| predicate.reads(location))
        };
        Declared {
            globals: of(&self.globals),
            layouts: self.layouts.iter().map(of).collect(),
            decides: (0..self.globals.len() + self.ghosts).map(decides).collect(),
            anything_decides: self.predicates.iter().any(|predicate| predicate.anything),
        }
    }

    /// Whether there are no rules.
    pub(crate) fn is_empty(&self) -> bool {
        let mut of_layouts = self.layouts.iter().flatten();
        self.globals.iter().all(Option::is_none) && of_layouts.all(Option::is_none)
    }

    /// What the thread needs in order to access the location, if there is a rule for it.
    pub(super) fn need(program: &Program, state: &State, location: Location) -> Option<Need> {
        let rules = &program.rules;
        let lock_in = |slot: u32| Need::Lock {
            cell: slot as usize,
            reference: word::global(slot as usize),
        };
        let (rule, object) = match word::at(location) {
            Reference::Global(slot) => ((*rules.globals.get(slot)?)?, None),
            Reference::Heap(name, offset) => {
                let part = Part::of(program, state, name, offset)?;
                let rule = rules.layouts[part.layout as usize].get(part.offset)?;
                ((*rule)?, Some((name, part)))
            }
            Reference::Thread(_) | Reference::Null => return None,
        };
        Some(match (rule, object) {
            (Rule::Lock(slot), _) | (Rule::Sibling(slot), None) => lock_in(slot),
            (Rule::Sibling(offset), Some((name, part))) => {
                let offset = offset as usize;
                Need::Lock {
                    cell: part.element_cell + offset,
                    reference: word::heap(name, part.element_offset + offset),
                }
            }
            (Rule::First { ghost }, _) => Need::First {
                cell: ghost as usize,
            },
            (Rule::When(part), _) => Need::When {
                part: part as usize,
            },
        })
    }
}

/// Walks through a variable, or an element of a layout, and writes down the rules.
struct Builder<'p> {
    program: &'p hir::Program,
    rules: &'p mut [Option<Rule>],
    on_heap: bool,
    next_ghost: u32,
}

impl Builder<'_> {
    /// A variable or a field, in a struct that begins at `owner`. The discipline of a field is
    /// closer to it than that of a variable around it.
    fn declared(
        &mut self,
        discipline: Option<&Discipline>,
        ty: &Type,
        start: u32,
        owner: u32,
        outer: Option<Rule>,
    ) {
        let rule = match discipline {
            None => outer,
            Some(Discipline::Lock(slot)) => Some(Rule::Lock(*slot)),
            Some(Discipline::Sibling(offset)) if self.on_heap => {
                Some(Rule::Sibling(owner + offset))
            }
            Some(Discipline::Sibling(offset)) => Some(Rule::Lock(owner + offset)),
            // Each slot gets a ghost of its own.
            Some(Discipline::ThreadLocal) => Some(Rule::First { ghost: 0 }),
            Some(Discipline::Locks { first, stride }) => {
                if let Type::Array(element, length) = ty {
                    let slots = self.program.slots(element);
                    for index in 0..*length {
                        let lock = Rule::Lock(first + index * stride);
                        self.part(element, start + index * slots, Some(lock));
                    }
                }
                return;
            }
        };
        self.part(ty, start, rule);
    }

    fn part(&mut self, ty: &Type, start: u32, rule: Option<Rule>) {
        let program = self.program;
        match ty {
            Type::Array(element, length) => {
                let stride = program.slots(element);
                if stride > 0 {
                    for index in 0..*length {
                        self.part(element, start + index * stride, rule);
                    }
                }
            }
            Type::Struct(id) => {
                for field in &program.structs[id.0 as usize].fields {
                    let discipline = field.discipline.as_ref();
                    self.declared(discipline, &field.ty, start + field.offset, start, rule);
                }
            }
            ty if ty.is_synchronisation() => {}
            _ => {
                let mut rule = rule;
                if let Some(Rule::First { ghost }) = &mut rule {
                    *ghost = self.next_ghost;
                    self.next_ghost += 1;
                }
                self.rules[start as usize] = rule;
            }
        }
    }
}

fn forget_synchronisation(
    program: &hir::Program,
    ty: &Type,
    start: u32,
    rules: &mut [Option<Rule>],
) {
    match ty {
        Type::Array(element, length) => {
            let stride = program.slots(element);
            if stride > 0 {
                for index in 0..*length {
                    forget_synchronisation(program, element, start + index * stride, rules);
                }
            }
        }
        Type::Struct(id) => {
            for field in &program.structs[id.0 as usize].fields {
                forget_synchronisation(program, &field.ty, start + field.offset, rules);
            }
        }
        ty if ty.is_synchronisation() => {
            rules[start as usize..][..program.slots(ty) as usize].fill(None);
        }
        _ => {}
    }
}

impl Predicate {
    /// Whether its value can depend on what is at the location.
    pub(super) fn reads(&self, location: Location) -> bool {
        let among = |slot: u32| {
            let mut globals = self.globals.iter();
            globals.any(|(first, end)| (*first..*end).contains(&slot))
        };
        match word::at(location) {
            Reference::Global(slot) => self.anything || among(slot as u32),
            Reference::Heap(..) => self.anything,
            Reference::Thread(_) | Reference::Null => false,
        }
    }

    fn mentions(&mut self, program: &hir::Program, expr: &Expr) {
        match &expr.kind {
            ExprKind::Value(_) | ExprKind::Tid => {}
            ExprKind::Load(place) => self.mentions_place(program, place, true),
            ExprKind::AddressOf(place) => self.mentions_place(program, place, false),
            ExprKind::Unary(_, a) | ExprKind::Convert(a) => self.mentions(program, a),
            ExprKind::Binary(_, a, b) => {
                self.mentions(program, a);
                self.mentions(program, b);
            }
            ExprKind::Conditional(a, b, c) => {
                for part in [a, b, c] {
                    self.mentions(program, part);
                }
            }
            // The checker allows nothing else; whatever it is, it can be anything.
            _ => self.anything = true,
        }
    }

    fn mentions_place(&mut self, program: &hir::Program, place: &Place, loads: bool) {
        match &place.base {
            PlaceBase::Local(_) => {}
            PlaceBase::Global(id) => {
                let global = &program.globals[id.0 as usize];
                if loads {
                    let end = global.slot + program.slots(&global.ty);
                    self.globals.push((global.slot, end));
                }
            }
            PlaceBase::Deref(reference) => {
                self.anything = true;
                self.mentions(program, reference);
            }
        }
        for projection in &place.path {
            match projection {
                Projection::Field(_) => {}
                Projection::Index { index, .. } => self.mentions(program, index),
                Projection::Offset { index, .. } => {
                    self.anything = true;
                    self.mentions(program, index);
                }
            }
        }
    }
}
