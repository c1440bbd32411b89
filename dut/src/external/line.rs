//! A hook's line: fills in its placeholders, and finds the files that it names.

use crate::step::quoted;

/// Each `{name}` becomes its value, quoted for a shell; `{{` and `}}` stand for braces. An error
/// says how to write the line.
pub(crate) fn fill(line: &str, values: &[(String, String)]) -> Result<String, String> {
    const BRACES: &str = "write `{{` and `}}` for braces of the shell";
    let mut filled = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['{', '}']) {
        filled.push_str(&rest[..at]);
        let (brace, after) = rest[at..].split_at(1);
        if let Some(after) = after.strip_prefix(brace) {
            filled.push_str(brace);
            rest = after;
            continue;
        }
        if brace == "}" {
            return Err(format!("it has a `}}` without `{{`: {BRACES}"));
        }
        let Some((name, after)) = after.split_once('}') else {
            return Err(format!("it has a `{{` without `}}`: {BRACES}"));
        };
        let Some((_, value)) = values.iter().find(|(known, _)| known == name) else {
            return Err(format!("{{{name}}} is not a placeholder; {}; {BRACES}", known(values)));
        };
        filled.push_str(&quoted(value));
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn known(values: &[(String, String)]) -> String {
    let names: Vec<String> = values.iter().map(|(name, _)| format!("{{{name}}}")).collect();
    if names.is_empty() {
        "this point has no placeholders".to_owned()
    } else {
        format!("known are {}", names.join(" "))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedFile {
    pub(super) path: String,
    pub(super) is_program: bool,
}

/// Words that begin with `./`, also in command substitutions, but not from variables.
pub(super) fn files(line: &str) -> Vec<NamedFile> {
    let mut found = Vec::new();
    let (mut word, mut begins_command) = (String::new(), true);
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (_, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => word.extend(chars.next()),
            ('\'' | '"', None) => quote = Some(c),
            (';' | '|' | '&' | '(' | ')' | '`' | '\n', None) => {
                end_word(&mut word, &mut begins_command, &mut found);
                begins_command = true;
            }
            ('<' | '>', None) => {
                end_word(&mut word, &mut begins_command, &mut found);
                begins_command = false;
            }
            (_, None) if c.is_whitespace() => end_word(&mut word, &mut begins_command, &mut found),
            _ => word.push(c),
        }
    }
    end_word(&mut word, &mut begins_command, &mut found);
    found
}

fn end_word(word: &mut String, begins_command: &mut bool, found: &mut Vec<NamedFile>) {
    if word.is_empty() {
        return;
    }
    let path = std::mem::take(word);
    // A command may follow an assignment, or words such as `then` and `!`.
    let leads = path.contains('=') || ["!", "if", "then", "else", "elif", "while", "do", "exec", "{"].contains(&&*path);
    let is_program = std::mem::replace(begins_command, *begins_command && leads);
    if path.starts_with("./") {
        found.push(NamedFile { path, is_program });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<(String, String)> {
        [("connections", "1000"), ("name", "it's a DUT")].map(|(n, v)| (n.to_owned(), v.to_owned())).into()
    }

    #[test]
    fn placeholders_are_replaced_and_quoted() {
        let fill = |line| fill(line, &values());
        assert_eq!(fill("./set {connections} {name}").unwrap(), r"./set 1000 'it'\''s a DUT'");
        assert_eq!(fill("awk '{{print $1}}' {{}}").unwrap(), "awk '{print $1}' {}");
        assert_eq!(fill("{{{connections}}}").unwrap(), "{1000}");
        let error = fill("./set {conections}").unwrap_err();
        assert!(error.starts_with("{conections} is not a placeholder; known are {connections} {name}"), "{error}");
        assert!(fill("awk '{print $1}'").unwrap_err().contains("write `{{` and `}}` for braces"));
        assert!(fill("a { b").unwrap_err().starts_with("it has a `{` without `}`"));
        assert!(fill("a } b").unwrap_err().starts_with("it has a `}` without `{`"));
        assert!(self::fill("{x}", &[]).unwrap_err().contains("this point has no placeholders"));
    }

    #[test]
    fn the_files_of_a_line_are_found() {
        let found = |line: &str| -> Vec<(String, bool)> {
            files(line).into_iter().map(|named| (named.path, named.is_program)).collect()
        };
        let program = |path: &str| (path.to_owned(), true);
        let file = |path: &str| (path.to_owned(), false);
        assert_eq!(found("conntrack -F && echo ok"), []);
        assert_eq!(found("./set 1"), [program("./set")]);
        assert_eq!(found("A=1 ./set ./rules >./log"), [program("./set"), file("./rules"), file("./log")]);
        assert_eq!(found("true&&'./my set' x;./b|./c"), [program("./my set"), program("./b"), program("./c")]);
        assert_eq!(found(r"nft -f ./my\ rules; echo './a' '$(./b)'"), [file("./my rules"), file("./a")]);
        assert_eq!(found("if ! ./test; then ./fix; fi"), [program("./test"), program("./fix")]);
    }
}
