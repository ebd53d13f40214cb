# tidy.awk - drops the empty paragraphs that scdoc writes after a heading and before a macro, and
# moves those at the end of an indented block behind it, where they separate it from the next.
/^\.P$/ { held = 1; next }
/^\.RE$/ { print; next }
held && !after_heading && !/^\.(SH|SS|RS)/ { print ".P" }
{ held = 0; after_heading = /^\.S[HS]/; print }
