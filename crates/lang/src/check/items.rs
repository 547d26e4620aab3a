//! Declarations at top level, in whatever order they are written.

use std::collections::HashMap;

use super::operations::NAMES;
use super::types::Role;
use super::{
    Checker, ConstantState, Context, MAX_GLOBAL_SLOTS, MAX_PARAMETERS, MAX_STARTS,
    MAX_TYPE_NESTING, Meaning, Signature, TypeMeaning,
};
use crate::ast::{self, Item};
use crate::diagnostic::Diagnostic;
use crate::hir::{
    Enum, EnumId, Field, FunctionId, Global, GlobalId, Invariant, Start, Struct, StructId, Type,
};
use crate::span::Span;

/// How far a struct has been laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Waiting,
    InProgress,
    Done,
}

impl<'a> Checker<'a> {
    /// Checks the whole program.
    pub(super) fn items(&mut self, tree: &'a ast::Program) {
        self.collect_names(tree);
        self.lay_out_structs(tree);
        for index in 0..self.constants.len() {
            self.constant(index, Span::default());
        }
        self.collect_signatures(tree);
        self.lay_out_globals(tree);
        let functions = || {
            tree.items.iter().filter_map(|item| match item {
                Item::Function(function) => Some(function),
                _ => None,
            })
        };
        for (index, function) in functions().enumerate() {
            self.function_body(function, index);
        }
        for item in &tree.items {
            match item {
                Item::Invariant(invariant) => self.invariant(invariant),
                Item::Exclusive(exclusive) => self.exclusive(exclusive),
                _ => {}
            }
        }
        self.field_disciplines(tree);
        self.starts(tree);
        self.flow();
    }

    fn collect_names(&mut self, tree: &'a ast::Program) {
        let (mut functions, mut globals, mut structs, mut enums) = (0, 0, 0, 0);
        for item in &tree.items {
            match item {
                Item::Const(constant) => {
                    let index = self.constants.len();
                    self.constants.push(ConstantState::Waiting(constant));
                    self.define(&constant.name, Meaning::Constant(index));
                }
                Item::Enum(declaration) => {
                    let id = EnumId(enums);
                    enums += 1;
                    self.define_type(&declaration.name, TypeMeaning::Enum(id));
                    for (number, value) in declaration.values.iter().enumerate() {
                        self.define(value, Meaning::EnumValue(id, number as i64));
                    }
                    self.program.enums.push(Enum {
                        name: declaration.name.text.clone(),
                        values: declaration.values.iter().map(|v| v.text.clone()).collect(),
                    });
                }
                Item::Struct(declaration) => {
                    self.define_type(&declaration.name, TypeMeaning::Struct(StructId(structs)));
                    structs += 1;
                    self.program.structs.push(Struct {
                        name: declaration.name.text.clone(),
                        fields: Vec::new(),
                        slots: 0,
                        synchronises: false,
                        nesting: 1,
                    });
                }
                Item::Global(declaration) => {
                    for variable in &declaration.variables {
                        self.define(&variable.name, Meaning::Global(GlobalId(globals)));
                        globals += 1;
                    }
                }
                Item::Function(function) => {
                    self.define(&function.name, Meaning::Function(FunctionId(functions)));
                    functions += 1;
                }
                Item::Run(_) | Item::Invariant(_) | Item::Exclusive(_) => {}
            }
        }
    }

    fn define(&mut self, name: &'a ast::Name, meaning: Meaning) {
        if NAMES.contains(&name.text.as_str()) {
            self.report(
                Diagnostic::error(
                    name.span,
                    format!("`{}` is the name of a built-in operation", name.text),
                )
                .help("choose another name"),
            );
            return;
        }
        if let Some((_, earlier)) = self.names.get(name.text.as_str()) {
            let earlier = *earlier;
            self.declared_twice(name, earlier);
        } else {
            self.names.insert(&name.text, (meaning, name.span));
        }
    }

    fn define_type(&mut self, name: &'a ast::Name, meaning: TypeMeaning) {
        if let Some((_, earlier)) = self.type_names.get(name.text.as_str()) {
            let earlier = *earlier;
            self.declared_twice(name, earlier);
        } else {
            self.type_names.insert(&name.text, (meaning, name.span));
        }
    }

    fn declared_twice(&mut self, name: &ast::Name, earlier: Span) {
        self.report(
            Diagnostic::error(name.span, format!("`{}` is declared twice", name.text))
                .label("declared again here")
                .related(earlier, "first declared here")
                .help("give one of the two another name"),
        );
    }

    fn lay_out_structs(&mut self, tree: &'a ast::Program) {
        let declarations: Vec<&ast::Struct> = tree
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Struct(declaration) => Some(declaration),
                _ => None,
            })
            .collect();
        let mut layouts = vec![Layout::Waiting; declarations.len()];
        self.fields.resize_with(declarations.len(), HashMap::new);
        for index in 0..declarations.len() {
            self.lay_out_struct(index, &declarations, &mut layouts);
        }
    }

    fn lay_out_struct(
        &mut self,
        index: usize,
        declarations: &[&'a ast::Struct],
        layouts: &mut [Layout],
    ) {
        if layouts[index] != Layout::Waiting {
            return;
        }
        layouts[index] = Layout::InProgress;
        let mut fields: Vec<Field> = Vec::new();
        let mut names: HashMap<&str, usize> = HashMap::new();
        let mut offset = 0u32;
        let mut nesting = 1;
        for field in &declarations[index].fields {
            let mut ty = self.variable_type(field, Role::Shared);
            if let Some(StructId(inner)) = contained_struct(&ty) {
                let laid_out = self.define_nested(field.name.span, |checker| {
                    checker.lay_out_struct(inner as usize, declarations, layouts);
                });
                if laid_out.is_none() {
                    ty = Type::Error;
                } else if layouts[inner as usize] == Layout::InProgress {
                    self.report(
                        Diagnostic::error(field.name.span, "a struct cannot contain itself")
                            .label("this field would never end")
                            .help("make it a reference: put `*` after its type"),
                    );
                    ty = Type::Error;
                }
            }
            if self.nesting(&ty) >= MAX_TYPE_NESTING {
                self.too_deep(field.name.span);
                ty = Type::Error;
            }
            nesting = nesting.max(1 + self.nesting(&ty));
            if *names.entry(&field.name.text).or_insert(fields.len()) != fields.len() {
                self.report(Diagnostic::error(
                    field.name.span,
                    format!("the field `{}` is there twice", field.name.text),
                ));
            }
            if let Some(init) = &field.init {
                let span = match init {
                    ast::Init::Value(expr) => expr.span,
                    ast::Init::List(_, span) => *span,
                };
                self.report(
                    Diagnostic::error(span, "a field has no initial value of its own")
                        .help("initialise the variables of this type instead"),
                );
            }
            let slots = self.program.slots(&ty);
            fields.push(Field {
                name: field.name.text.clone(),
                ty,
                offset,
                discipline: None,
            });
            offset = offset.saturating_add(slots);
        }
        if fields.is_empty() {
            self.report(Diagnostic::error(
                declarations[index].name.span,
                "a struct needs at least one field",
            ));
        }
        let synchronises = |field: &Field| self.contains_synchronisation(&field.ty);
        self.program.structs[index].synchronises = fields.iter().any(synchronises);
        self.program.structs[index].nesting = nesting;
        self.program.structs[index].fields = fields;
        self.fields[index] = names;
        self.program.structs[index].slots = offset;
        layouts[index] = Layout::Done;
    }

    fn collect_signatures(&mut self, tree: &'a ast::Program) {
        for item in &tree.items {
            let Item::Function(function) = item else {
                continue;
            };
            let result = self.resolve(&function.result);
            self.allow(&result, Role::Result, function.result.span, "the result");
            let mut parameters = Vec::new();
            if let Some(parameter) = function.parameters.get(MAX_PARAMETERS) {
                self.report(
                    Diagnostic::error(
                        parameter.name.span,
                        format!("`{}` has too many parameters", function.name.text),
                    )
                    .help(format!(
                        "at most {MAX_PARAMETERS}; pass a reference to a struct or an array"
                    )),
                );
            }
            for parameter in function.parameters.iter().take(MAX_PARAMETERS) {
                let ty = self.resolve(&parameter.ty);
                let name = &parameter.name;
                let allowed = self.allow(&ty, Role::Parameter, name.span, &name.text);
                parameters.push(if allowed { ty } else { Type::Error });
            }
            self.signatures.push(Signature {
                parameters,
                result,
                span: function.name.span,
            });
        }
    }

    fn lay_out_globals(&mut self, tree: &'a ast::Program) {
        let variables = || {
            tree.items.iter().flat_map(|item| match item {
                Item::Global(global) => &global.variables[..],
                _ => &[],
            })
        };
        for item in &tree.items {
            let Item::Global(declaration) = item else {
                continue;
            };
            for variable in &declaration.variables {
                self.lay_out_global(variable, declaration.atomic);
            }
        }
        // Initialisers may refer to any global, so they come after all of them.
        for (index, variable) in variables().enumerate() {
            let global = &self.program.globals[index];
            let (ty, slot) = (global.ty.clone(), global.slot);
            if let Some(init) = &variable.init {
                self.global_init(init, &ty, slot);
            }
            let discipline = self.discipline(variable, &ty, None);
            self.program.globals[index].discipline = discipline;
        }
    }

    fn lay_out_global(&mut self, variable: &'a ast::Variable, atomic: Option<Span>) {
        let mut ty = self.variable_type(variable, Role::Shared);
        let slot = self.program.initial.len() as u32;
        let slots = self.program.slots(&ty);
        if slots > MAX_GLOBAL_SLOTS.saturating_sub(slot) {
            self.report(
                Diagnostic::error(variable.name.span, "the global variables are too large")
                    .label(format!("{slots} more slots do not fit"))
                    .help(format!(
                        "all of them together have at most {MAX_GLOBAL_SLOTS} slots"
                    )),
            );
            ty = Type::Error;
        }
        if let Some(span) = atomic {
            let mut element = &ty;
            while let Type::Array(inner, _) = element {
                element = inner;
            }
            if !element.is_scalar() {
                let name = self.a_type(element);
                self.report(
                    Diagnostic::error(span, format!("{name} cannot be atomic"))
                        .help("integers, `bool`s, enums and references can, and arrays of them"),
                );
            }
        }
        self.push_defaults(&ty);
        self.program.globals.push(Global {
            name: variable.name.text.clone(),
            ty,
            atomic: atomic.is_some(),
            slot,
            discipline: None,
            span: variable.name.span,
        });
    }

    fn invariant(&mut self, invariant: &'a ast::Invariant) {
        let (condition, _) = self.in_context(Context::Invariant, |checker| {
            let value = checker.expr(&invariant.condition);
            checker.condition(value)
        });
        self.program.invariants.push(Invariant {
            condition,
            span: invariant.span,
        });
    }

    fn starts(&mut self, tree: &'a ast::Program) {
        let mut runs = tree.items.iter().filter_map(|item| match item {
            Item::Run(run) => Some(run),
            _ => None,
        });
        let Some(run) = runs.next() else {
            return self.start_main();
        };
        for again in runs {
            self.report(
                Diagnostic::error(again.span, "there is more than one `run`")
                    .related(run.span, "the first one")
                    .help("put all threads into one: `run f() || g();`"),
            );
        }
        for start in &run.starts {
            self.start(start);
        }
        self.number_namesakes();
    }

    fn start_main(&mut self) {
        let Some(&(Meaning::Function(main), span)) = self.names.get("main") else {
            self.report(
                Diagnostic::error(Span::default(), "the program starts no thread")
                    .help("write `run f() || g();`, or a function `void main() { ... }`"),
            );
            return;
        };
        if !self.signatures[main.0 as usize].parameters.is_empty() {
            self.report(
                Diagnostic::error(span, "`main` takes no arguments")
                    .help("write `run main(...);` to give it some"),
            );
        }
        self.program.starts.push(Start {
            function: main,
            arguments: Vec::new(),
            name: "main".into(),
            span,
        });
    }

    fn start(&mut self, start: &'a ast::Start) {
        let count = match &start.count {
            None => Some(1),
            Some(count) => self.constant_int(count, "the number of threads"),
        };
        let Some(function) = self.function(&start.function) else {
            return;
        };
        let (arguments, _) = self.in_context(Context::Start, |checker| {
            checker.arguments(&start.function, function, &start.arguments, start.span)
        });
        let Some(count) = count else {
            return;
        };
        let first = self.program.starts.len();
        if count < 1 || first as i64 + count > MAX_STARTS as i64 {
            self.report(
                Diagnostic::error(
                    start.span,
                    format!("`run` cannot start {count} threads here"),
                )
                .help(format!("at least one, and at most {MAX_STARTS} in all")),
            );
            return;
        }
        let parameters = self.signatures[function.0 as usize].parameters.clone();
        for index in 0..count as usize {
            let tid = (first + index) as i64;
            let mut values = Vec::new();
            for (argument, ty) in arguments.iter().zip(&parameters) {
                let value = self.fold_or_report(argument, tid);
                self.check_range(value, ty, argument.span);
                values.push(value);
            }
            let name = match start.count {
                None => start.function.text.clone(),
                Some(_) => format!("{}[{index}]", start.function.text),
            };
            self.program.starts.push(Start {
                function,
                arguments: values,
                name,
                span: start.span,
            });
        }
    }

    /// `f() || f()` become `f#1` and `f#2`, so that messages can tell them apart.
    fn number_namesakes(&mut self) {
        // How many there are of a name, and how many of them have got their numbers.
        let mut namesakes: HashMap<String, (u32, u32)> = HashMap::new();
        for start in &self.program.starts {
            namesakes.entry(start.name.clone()).or_default().0 += 1;
        }
        for start in &mut self.program.starts {
            if let Some((2.., numbered)) = namesakes.get_mut(&start.name) {
                *numbered += 1;
                start.name += &format!("#{numbered}");
            }
        }
    }
}

/// The struct that a type contains by value.
fn contained_struct(ty: &Type) -> Option<StructId> {
    match ty {
        Type::Struct(id) => Some(*id),
        Type::Array(element, _) => contained_struct(element),
        _ => None,
    }
}
