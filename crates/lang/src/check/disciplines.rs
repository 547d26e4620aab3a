//! `guarded_by`, `thread_local` and `exclusive ... when`.

use super::{Checker, Context, Meaning, TypeMeaning};
use crate::ast::{self, Item};
use crate::diagnostic::Diagnostic;
use crate::hir::{
    Discipline, Exclusive, ExprKind, Place, PlaceBase, Projection, StructId, Type, Value,
};
use crate::span::Span;

impl<'a> Checker<'a> {
    /// The discipline of a variable, or of a field of `owner`.
    pub(super) fn discipline(
        &mut self,
        variable: &'a ast::Variable,
        ty: &Type,
        owner: Option<StructId>,
    ) -> Option<Discipline> {
        let mut result = None;
        for (index, written) in variable.disciplines.iter().enumerate() {
            let (checked, span) = match written {
                ast::Discipline::ThreadLocal(span) => (Some(Discipline::ThreadLocal), *span),
                ast::Discipline::GuardedBy {
                    lock,
                    elementwise,
                    span,
                } => {
                    let checked = if *elementwise {
                        self.locks(lock, ty)
                    } else {
                        self.guard(lock, owner)
                    };
                    (checked, *span)
                }
            };
            if index > 0 {
                self.report(
                    Diagnostic::error(span, "a variable has one discipline")
                        .help("keep the one that always holds"),
                );
            }
            if owner.is_some() && matches!(written, ast::Discipline::ThreadLocal(_)) {
                self.report(
                    Diagnostic::error(span, "`thread_local` is for global variables")
                        .label("this is a field of a struct")
                        .help("an array of a variable for each thread can be `thread_local`"),
                );
            }
            if ty.is_synchronisation() {
                self.report(
                    Diagnostic::error(span, "a synchronisation object needs no protection")
                        .help("leave this out"),
                );
            }
            result = checked;
        }
        result
    }

    fn guard(&mut self, lock: &'a ast::Expr, owner: Option<StructId>) -> Option<Discipline> {
        if let (Some(owner), ast::ExprKind::Name(name)) = (owner, &lock.kind) {
            let sibling = self.field_named(owner, name);
            let sibling = sibling.map(|field| (field.ty.clone(), field.offset));
            if let Some((ty, offset)) = sibling {
                return self
                    .is_lock(&ty, lock.span)
                    .then_some(Discipline::Sibling(offset));
            }
        }
        let place = self.lock_place(lock)?;
        if !self.is_lock(&place.ty, lock.span) {
            return None;
        }
        self.slot_of(&place).map(Discipline::Lock)
    }

    fn locks(&mut self, lock: &'a ast::Expr, ty: &Type) -> Option<Discipline> {
        let place = self.lock_place(lock)?;
        let (Type::Array(element, locks), Type::Array(_, length)) = (&place.ty, ty) else {
            self.report(
                Diagnostic::error(lock.span, "`[]` pairs two arrays")
                    .help("both the variable and the locks must be arrays of the same length"),
            );
            return None;
        };
        if locks != length {
            self.report(
                Diagnostic::error(lock.span, "the two arrays have different lengths")
                    .label(format!("{locks} locks for {length} elements")),
            );
            return None;
        }
        if !self.is_lock(element, lock.span) {
            return None;
        }
        let stride = self.program.slots(element);
        let first = self.slot_of(&place)?;
        Some(Discipline::Locks { first, stride })
    }

    fn lock_place(&mut self, lock: &'a ast::Expr) -> Option<Place> {
        self.in_context(Context::Constant, |checker| checker.place(lock))
            .0
    }

    fn is_lock(&mut self, ty: &Type, span: Span) -> bool {
        let lock = matches!(ty, Type::Mutex { .. } | Type::RwLock);
        if !lock && *ty != Type::Error {
            let name = self.a_type(ty);
            self.report(
                Diagnostic::error(span, "`guarded_by` needs a `mutex` or an `rwlock`")
                    .label(format!("this is {name}"))
                    .help("for any other protection, write `exclusive x when (...)`"),
            );
        }
        lock
    }

    /// The slot of a place that is known before the program runs.
    fn slot_of(&mut self, place: &Place) -> Option<u32> {
        let PlaceBase::Global(global) = &place.base else {
            return None;
        };
        let mut slot = self.program.globals[global.0 as usize].slot;
        for projection in &place.path {
            slot += match projection {
                Projection::Field(offset) => *offset,
                Projection::Index { index, stride, .. } => match index.kind {
                    ExprKind::Value(Value::Int(position)) => position as u32 * stride,
                    _ => return None,
                },
                Projection::Offset { .. } => return None,
            };
        }
        Some(slot)
    }

    /// The disciplines of fields, once all structs and globals are known.
    pub(super) fn field_disciplines(&mut self, tree: &'a ast::Program) {
        for item in &tree.items {
            let Item::Struct(declaration) = item else {
                continue;
            };
            let Some(&(TypeMeaning::Struct(id), _)) =
                self.type_names.get(declaration.name.text.as_str())
            else {
                continue;
            };
            for (index, field) in declaration.fields.iter().enumerate() {
                let Some(known) = self.program.structs[id.0 as usize].fields.get(index) else {
                    continue;
                };
                let ty = known.ty.clone();
                let discipline = self.discipline(field, &ty, Some(id));
                self.program.structs[id.0 as usize].fields[index].discipline = discipline;
            }
        }
    }

    pub(super) fn exclusive(&mut self, exclusive: &'a ast::Exclusive) {
        let (checked, locals) = self.in_context(Context::Discipline, |checker| {
            let place = checker.exclusive_place(&exclusive.place)?;
            let value = checker.expr(&exclusive.condition);
            Some((place, checker.condition(value)))
        });
        let Some((place, condition)) = checked else {
            return;
        };
        let checked = Exclusive {
            global: place.global,
            offset: place.offset,
            slots: self.program.slots(&place.ty),
            dimensions: place.dimensions,
            condition,
            locals,
            span: exclusive.span,
        };
        self.is_the_only_discipline(&checked, exclusive.place.span);
        self.program.exclusives.push(checked);
    }

    fn is_the_only_discipline(&mut self, exclusive: &Exclusive, span: Span) {
        let global = &self.program.globals[exclusive.global.0 as usize];
        if self.program.slots(&global.ty) > u32::from(u16::MAX) {
            return; // It is too large anyway.
        }
        let slots = || {
            let parts = exclusive.parts();
            parts.flat_map(|(first, _)| {
                let first = global.slot + first;
                first..first + exclusive.slots
            })
        };
        // Each slot is met twice at most, however many declarations there are.
        let twice = slots().any(|slot| self.exclusive_slots.contains(&slot));
        if !twice {
            self.exclusive_slots.extend(slots());
        }
        if global.discipline.is_some() || twice {
            self.report(
                Diagnostic::error(span, "a variable has one discipline")
                    .label(format!("`{}` has another one", global.name))
                    .help("keep the one that always holds"),
            );
        }
    }

    /// `a[i].f`: the indices are names that the condition may use.
    fn exclusive_place(&mut self, expr: &'a ast::Expr) -> Option<ExclusivePlace> {
        match &expr.kind {
            ast::ExprKind::Name(name) => match self.names.get(name.as_str()).copied() {
                Some((Meaning::Global(id), _)) => Some(ExclusivePlace {
                    global: id,
                    offset: 0,
                    dimensions: Vec::new(),
                    ty: self.program.globals[id.0 as usize].ty.clone(),
                }),
                _ => {
                    self.report(
                        Diagnostic::error(
                            expr.span,
                            format!("there is no global variable `{name}`"),
                        )
                        .help("`exclusive` is about a global variable"),
                    );
                    None
                }
            },
            ast::ExprKind::Index(base, index) => {
                let mut place = self.exclusive_place(base)?;
                let (ast::ExprKind::Name(name), Type::Array(element, length)) =
                    (&index.kind, place.ty.clone())
                else {
                    self.report(
                        Diagnostic::error(expr.span, "the indices of `exclusive` are new names")
                            .help("such as `exclusive a[i] when (owner[i] == tid);`"),
                    );
                    return None;
                };
                let id = crate::hir::LocalId(self.body.locals.len() as u32);
                self.body.locals.push(crate::hir::Local {
                    name: name.clone(),
                    ty: Type::INT,
                    span: index.span,
                });
                let scope = self
                    .body
                    .scopes
                    .last_mut()
                    .expect("there is always a scope");
                scope.insert(name, id);
                place
                    .dimensions
                    .push((length, self.program.slots(&element)));
                place.ty = *element;
                Some(place)
            }
            ast::ExprKind::Field(base, field) => {
                let mut place = self.exclusive_place(base)?;
                let found = match &place.ty {
                    Type::Struct(id) => self.field_named(*id, &field.text).cloned(),
                    _ => None,
                };
                let Some(found) = found else {
                    self.report(Diagnostic::error(
                        field.span,
                        format!("there is no field `{}` here", field.text),
                    ));
                    return None;
                };
                place.offset += found.offset;
                place.ty = found.ty;
                Some(place)
            }
            ast::ExprKind::Error => None,
            _ => {
                self.report(
                    Diagnostic::error(expr.span, "`exclusive` is about a variable")
                        .help("such as `exclusive x when (owner == tid);`"),
                );
                None
            }
        }
    }
}

struct ExclusivePlace {
    global: crate::hir::GlobalId,
    offset: u32,
    dimensions: Vec<(u32, u32)>,
    ty: Type,
}
