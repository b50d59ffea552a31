//! The type of records, and the function that undoes a change from its record.

use crate::input::{Field, State, Variant, record_variant};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::Fields;

pub(crate) fn generate(state: &State<'_>) -> TokenStream {
    let (types, steps, undo) = (types(state), steps(state), undo(state));
    quote!(#types #steps #undo)
}

/// Returns the name of the private enum inside the record, which has a variant for each field.
fn kind(state: &State<'_>) -> Ident {
    format_ident!("{}UndoKind", state.name)
}

/// Returns the type of the records of a field, as the record of the whole holds them.
fn kept(state: &State<'_>, field: &Field<'_>) -> TokenStream {
    let (restore, ty) = (&state.restore, field.ty);
    let undo = quote!(<#ty as #restore::Undoable>::Undo);
    if field.is_boxed { quote!(::std::boxed::Box<#undo>) } else { undo }
}

/// Returns the type of records. It is a struct around a private enum, which hides the types of private
/// fields.
fn types(state: &State<'_>) -> TokenStream {
    let (name, vis, undo, kind) = (state.name, state.vis, state.undo(), kind(state));
    let (parameters, arguments, bounds) = state.generics.split_for_impl();
    let variants = state.recorded().map(|(_, field, number)| {
        let (variant, kept) = (record_variant(number), kept(state, field));
        quote!(#variant(#kept),)
    });
    let types: Vec<&Ident> = state.generics.type_params().map(|parameter| &parameter.ident).collect();
    // The language requires that every generic parameter is used, even one that only constants have.
    let never = (!types.is_empty())
        .then(|| quote!(Never(::core::convert::Infallible, ::core::marker::PhantomData<fn() -> (#(#types,)*)>),));
    let doc = format!("A record of one change to a [`{name}`].");
    let debug = crate::view::debug(&undo.to_string(), &quote!(#parameters), &quote!(#undo #arguments #bounds));
    quote! {
        #[doc = #doc]
        #vis struct #undo #parameters (#kind #arguments) #bounds;

        enum #kind #parameters #bounds { #(#variants)* #never }

        #debug
    }
}

/// Returns the steps from the whole to its fields.
fn steps(state: &State<'_>) -> TokenStream {
    let (restore, undo, kind, undo_type) = (&state.restore, state.undo(), kind(state), state.undo_type());
    let (parameters, _, bounds) = state.generics.split_for_impl();
    let steps = state.recorded().map(|(_, field, number)| {
        let (variant, ty) = (record_variant(number), field.ty);
        let kept = if field.is_boxed { quote!(::std::boxed::Box::new(part)) } else { quote!(part) };
        let part = quote!(<#ty as #restore::Undoable>::Undo);
        quote! {
            #[automatically_derived]
            impl #parameters #restore::Step<#undo_type, #part> for #restore::Nth<#number> #bounds {
                #[inline(always)]
                fn wrap(self, part: #part) -> #undo_type {
                    #undo(#kind::#variant(#kept))
                }
            }
        }
    });
    quote!(#(#steps)*)
}

/// Returns the implementation of `Undoable`.
fn undo(state: &State<'_>) -> TokenStream {
    let (restore, name, kind) = (&state.restore, state.name, kind(state));
    let (parameters, arguments, bounds) = state.generics.split_for_impl();
    let (undo, view, view_arguments) = (state.undo(), state.view(), crate::view::arguments(state));
    let undo_type = state.undo_type();
    let arms = state.recorded().map(|(variant, field, number)| {
        let (record, ty, pattern) = (record_variant(number), field.ty, pattern(state, variant, field));
        let part = if field.is_boxed { quote!(*part) } else { quote!(part) };
        quote!((#pattern, #kind::#record(part)) => <#ty as #restore::Undoable>::undo(field, #part),)
    });
    let has_types = state.generics.type_params().next().is_some();
    let never = has_types.then(|| quote!((_, #kind::Never(never, _)) => match never {},));
    let other = (state.variants.len() > 1)
        .then(|| quote!(_ => ::core::unreachable!("a change is undone where it was recorded"),));
    let body = if state.recorded().next().is_none() && !has_types {
        quote!(match undo.0 {})
    } else {
        quote!(match (self, undo.0) { #(#arms)* #never #other })
    };
    let make = crate::view::make(state);
    quote! {
        #[automatically_derived]
        impl #parameters #restore::Undoable for #name #arguments #bounds {
            type Undo = #undo_type;
            type View<'view, R: #restore::Recorder<#undo_type>> = #view #view_arguments where Self: 'view;

            #[inline(always)]
            fn view<R: #restore::Recorder<#undo_type>>(&mut self, recorder: R) -> Self::View<'_, R> {
                #make
            }

            #[inline]
            fn undo(&mut self, undo: #undo #arguments) {
                #body
            }
        }
    }
}

/// Returns the pattern that binds one field to `field`.
fn pattern(state: &State<'_>, variant: &Variant<'_>, field: &Field<'_>) -> TokenStream {
    let (name, member) = (state.name, &field.member);
    let path = variant.name.map_or_else(|| quote!(#name), |variant| quote!(#name::#variant));
    match variant.shape {
        Fields::Unit => quote!(#path),
        _ => quote!(#path { #member: field, .. }),
    }
}
