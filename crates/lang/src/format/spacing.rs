//! Whether there is a space between two tokens on a line.

use crate::parser::Role;
use crate::token::TokenKind as T;

use super::text::Piece;

/// Whether there is a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// A space.
    Yes,
    /// None.
    No,
}

/// The space between two neighbours.
pub(super) fn space(left: &Piece<'_>, right: &Piece<'_>) -> Space {
    if would_merge(left, right) {
        Space::Yes
    } else if ends_tight(left) || begins_tight(left, right) {
        Space::No
    } else {
        Space::Yes
    }
}

/// Whether two tokens would become another one: `- -x`, `& &x`, `> >`.
fn would_merge(left: &Piece<'_>, right: &Piece<'_>) -> bool {
    match left.role {
        Role::Prefix => {
            matches!(left.kind, T::Minus | T::Ampersand) && right.text.starts_with(left.text)
        }
        Role::CloseAngle => left.kind == T::Greater && right.role == Role::CloseAngle,
        _ => false,
    }
}

/// Whether nothing is put after this token.
fn ends_tight(left: &Piece<'_>) -> bool {
    matches!(left.role, Role::Prefix | Role::OpenAngle | Role::ListOpen)
        || matches!(
            left.kind,
            T::OpenParen | T::OpenBracket | T::Dot | T::DotDot | T::Arrow
        )
}

/// Whether nothing is put before the token on the right.
fn begins_tight(left: &Piece<'_>, right: &Piece<'_>) -> bool {
    match right.kind {
        T::CloseParen | T::CloseBracket | T::Comma | T::Dot | T::DotDot | T::Arrow => true,
        // `for (;;)`
        T::Semicolon => true,
        T::OpenParen => takes_arguments(left),
        T::OpenBracket => !left.is_comment(),
        T::CloseBrace => left.role == Role::BlockOpen || right.role == Role::ListClose,
        _ => matches!(
            right.role,
            Role::Postfix | Role::TypeStar | Role::OpenAngle | Role::CloseAngle | Role::LabelColon
        ),
    }
}

/// Whether a `(` after this token belongs to it.
fn takes_arguments(left: &Piece<'_>) -> bool {
    matches!(
        left.kind,
        T::Name | T::Assert | T::Assume | T::Await | T::Reach | T::Choose
    )
}
