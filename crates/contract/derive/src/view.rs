//! The views that handlers get. A view reads as the state does, and leads to views of the fields.

use crate::input::{Field, State, Variant};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Fields, Generics, Lifetime, parse_quote};

pub(crate) fn generate(state: &State<'_>) -> TokenStream {
    if state.is_enum {
        return variants(state);
    }
    let (view, parts) = (fields(state), parts(state));
    quote!(#view #parts)
}

/// Returns the generics of a view: those of the state, a lifetime, and the recorder, with or without its
/// bound.
fn generics(state: &State<'_>, is_bound: bool) -> Generics {
    let mut generics = state.generics.clone();
    generics.params.insert(0, parse_quote!('view));
    if is_bound {
        let (restore, undo) = (&state.restore, state.undo_type());
        generics.params.push(parse_quote!(R: #restore::Recorder<#undo>));
        for parameter in state.generics.type_params() {
            let name = &parameter.ident;
            generics.make_where_clause().predicates.push(parse_quote!(#name: 'view));
        }
    } else {
        generics.params.push(parse_quote!(R));
    }
    generics
}

/// Returns the generic arguments of a view.
pub(crate) fn arguments(state: &State<'_>) -> TokenStream {
    let generics = generics(state, false);
    let (_, arguments, _) = generics.split_for_impl();
    quote!(#arguments)
}

/// Returns the type of the view of a field. A constant has a reference instead.
fn field_view(state: &State<'_>, field: &Field<'_>, lifetime: &TokenStream) -> TokenStream {
    let (restore, undo, ty) = (&state.restore, state.undo_type(), field.ty);
    match field.number {
        None => quote!(&#lifetime #ty),
        Some(number) => {
            quote_spanned!(ty.span() => #restore::PartMut<#lifetime, #ty, R, #undo, #restore::Nth<#number>>)
        }
    }
}

/// Returns the expression that makes the view of a field from `place`, a mutable reference, and `recorder`.
fn make_field(state: &State<'_>, field: &Field<'_>, place: &TokenStream) -> TokenStream {
    let (restore, undo, ty) = (&state.restore, state.undo_type(), field.ty);
    match field.number {
        None => place.clone(),
        Some(number) => quote! {
            <#ty as #restore::Undoable>::view(
                #place,
                #restore::Recorder::<#undo>::within(recorder, #restore::Nth::<#number>),
            )
        },
    }
}

/// Returns the body of `Undoable::view`.
pub(crate) fn make(state: &State<'_>) -> TokenStream {
    let (restore, view, name) = (&state.restore, state.view(), state.name);
    if !state.is_enum {
        return quote!(#view(#restore::Tracked::new(self, recorder)));
    }
    let arms = state.variants.iter().map(|variant| {
        let variant_name = variant.name;
        let (members, bindings): (Vec<_>, Vec<_>) =
            variant.fields.iter().map(|field| (&field.member, field.binding())).unzip();
        let pattern = match variant.shape {
            Fields::Named(_) => quote!({ #(#bindings),* }),
            Fields::Unnamed(_) => quote!((#(#bindings),*)),
            Fields::Unit => TokenStream::new(),
        };
        let made = variant.fields.iter().map(|field| {
            let binding = field.binding();
            make_field(state, field, &quote!(#binding))
        });
        quote! {
            #name::#variant_name #pattern => #view::#variant_name { #(#members: #made),* },
        }
    });
    quote!(match self { #(#arms)* })
}

/// Returns the view of a struct.
fn fields(state: &State<'_>) -> TokenStream {
    let (restore, name, vis, view) = (&state.restore, state.name, state.vis, state.view());
    let (_, state_arguments, _) = state.generics.split_for_impl();
    let (plain, bound) = (generics(state, false), generics(state, true));
    let (plain_parameters, arguments, bounds) = plain.split_for_impl();
    let (bound_parameters, ..) = bound.split_for_impl();
    let doc = format!("A view of a [`{name}`] that records each change.");
    let debug = debug(&view.to_string(), &quote!(#plain_parameters), &quote!(#view #arguments #bounds));
    let short = short_arguments(state);
    let methods = state.recorded().map(|(_, field, _)| method(state, field));
    let split = split(state);
    quote! {
        #[doc = #doc]
        #[must_use = "a view changes nothing by itself"]
        #vis struct #view #plain_parameters (#restore::Tracked<'view, #name #state_arguments, R>) #bounds;

        #debug

        #[automatically_derived]
        impl #plain_parameters ::core::ops::Deref for #view #arguments #bounds {
            type Target = #name #state_arguments;

            #[inline(always)]
            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        #[allow(dead_code, reason = "not every field is changed, and not every view is split or given away")]
        impl #bound_parameters #view #arguments #bounds {
            /// Borrows the view for a shorter time.
            #[inline(always)]
            #vis fn reborrow(&mut self) -> #view #short {
                #view(self.0.reborrow())
            }

            #split

            #(#methods)*
        }
    }
}

/// Returns the methods that lead to all fields at once.
fn split(state: &State<'_>) -> TokenStream {
    if state.recorded().next().is_none() {
        return TokenStream::new();
    }
    let (vis, parts, short, long) = (state.vis, state.parts(), short_arguments(state), arguments(state));
    let members = state.variants.iter().flat_map(|variant| &variant.fields).map(|field| {
        let member = &field.member;
        let reference = if field.number.is_some() { quote!(&mut) } else { quote!(&) };
        let made = make_field(state, field, &quote!(#reference value.#member));
        quote!(#member: #made)
    });
    quote! {
        /// Returns the views of all fields, to be used side by side.
        #[inline(always)]
        #vis fn split(&mut self) -> #parts #short {
            self.reborrow().into_parts()
        }

        /// As `split`, for a view that is not used afterwards. The result can outlive the view.
        #[inline(always)]
        #vis fn into_parts(self) -> #parts #long {
            let (value, recorder) = self.0.open();
            #parts { #(#members),* }
        }
    }
}

/// Returns the generic arguments of a view that is borrowed from another.
fn short_arguments(state: &State<'_>) -> TokenStream {
    let mut generics = generics(state, false);
    if let Some(lifetime) = generics.lifetimes_mut().next() {
        lifetime.lifetime = Lifetime::new("'_", Span::call_site());
    }
    let (_, arguments, _) = generics.split_for_impl();
    quote!(#arguments)
}

/// Returns the method that leads to a field.
fn method(state: &State<'_>, field: &Field<'_>) -> TokenStream {
    let (vis, member) = (field.vis, &field.member);
    let doc = format!("The field `{}`; changes are recorded.", field.binding());
    let (view, made) = (field_view(state, field, &quote!('_)), make_field(state, field, &quote!(&mut value.#member)));
    quote! {
        #[doc = #doc]
        #[inline(always)]
        #vis fn #member(&mut self) -> #view {
            let (value, recorder) = self.0.reborrow().open();
            #made
        }
    }
}

/// Returns the struct with the views of all fields.
fn parts(state: &State<'_>) -> TokenStream {
    if state.recorded().next().is_none() {
        return TokenStream::new();
    }
    let (vis, parts) = (state.vis, state.parts());
    let generics = generics(state, true);
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let members = state.variants.iter().flat_map(|variant| &variant.fields).map(|field| {
        let (vis, member, view) = (field.vis, &field.member, field_view(state, field, &quote!('view)));
        let doc = format!("The field `{}`.", field.binding());
        quote!(#[doc = #doc] #vis #member: #view,)
    });
    let doc = format!("Views of the fields of a [`{}`], side by side.", state.name);
    let debug = debug(&parts.to_string(), &quote!(#parameters), &quote!(#parts #arguments #bounds));
    quote! {
        #[doc = #doc]
        #[allow(dead_code, reason = "not every field is used by those who split a view")]
        #vis struct #parts #parameters #bounds { #(#members)* }

        #debug
    }
}

/// Returns the view of an enum.
fn variants(state: &State<'_>) -> TokenStream {
    let (vis, view, name) = (state.vis, state.view(), state.name);
    let generics = generics(state, true);
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let variants = state.variants.iter().map(|variant| view_variant(state, variant));
    let doc = format!("A view of a [`{name}`] that records each change.");
    let debug = debug(&view.to_string(), &quote!(#parameters), &quote!(#view #arguments #bounds));
    quote! {
        #[doc = #doc]
        #[must_use = "a view changes nothing by itself"]
        #[allow(dead_code, reason = "not every field is changed")]
        #vis enum #view #parameters #bounds { #(#variants,)* }

        #debug
    }
}

fn view_variant(state: &State<'_>, variant: &Variant<'_>) -> TokenStream {
    let name = variant.name;
    let doc = name.map(|name| format!("As [`{}::{name}`].", state.name));
    let fields = variant.fields.iter().map(|field| {
        let view = field_view(state, field, &quote!('view));
        match &field.member {
            syn::Member::Named(name) => {
                let doc = format!("The field `{name}`.");
                quote!(#[doc = #doc] #name: #view)
            }
            syn::Member::Unnamed(_) => view,
        }
    });
    match variant.shape {
        Fields::Named(_) => quote!(#[doc = #doc] #name { #(#fields),* }),
        Fields::Unnamed(_) => quote!(#[doc = #doc] #name(#(#fields),*)),
        Fields::Unit => quote!(#[doc = #doc] #name),
    }
}

/// Returns an implementation of `Debug` for a type whose parts need not have it.
pub(crate) fn debug(text: &str, parameters: &TokenStream, ty: &TokenStream) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl #parameters ::core::fmt::Debug for #ty {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(#text)
            }
        }
    }
}
