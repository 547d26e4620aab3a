//! What the parser knows about tokens and the tree does not say.
//!
//! The formatter works on tokens, since that is how no comment gets lost. But a
//! token alone does not say whether a `*` multiplies or a `{` opens a block. The
//! parser knows, so it leaves a mark.

/// What an ambiguous token turned out to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing special: a binary operator, a name, ...
    #[default]
    Plain,
    /// An operator before its operand: `-x`, `*p`, `++x`.
    Prefix,
    /// An operator after its operand: `x++`.
    Postfix,
    /// The `*` of a reference type.
    TypeStar,
    /// The `*` that is a condition.
    Any,
    /// The `<` of a type.
    OpenAngle,
    /// The `>` of a type.
    CloseAngle,
    /// The `)` of a cast.
    CastClose,
    /// The `:` after a label, `case` or `default`.
    LabelColon,
    /// The `{` around statements, fields, enum values or arms.
    BlockOpen,
    /// The `}` of a block.
    BlockClose,
    /// The `{` of an initialiser.
    ListOpen,
    /// The `}` of an initialiser.
    ListClose,
}

/// How a token begins a part of the program that may have a line of its own.
///
/// An `owner` is the first token of the statement that the part belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// An item, a field, an enum value, a `case`, or a statement of a block.
    Line,
    /// A statement that is part of another one.
    Body { owner: usize },
    /// The `else` of an `if`, the `while` of a `do`.
    Continue { owner: usize },
}

/// The marks of all tokens, by their number, comments not counted.
#[derive(Debug)]
pub(crate) struct Marks {
    pub(crate) roles: Vec<Role>,
    pub(crate) starts: Vec<Option<Start>>,
}

impl Marks {
    pub(super) fn new(tokens: usize) -> Self {
        Self {
            roles: vec![Role::Plain; tokens],
            starts: vec![None; tokens],
        }
    }
}
