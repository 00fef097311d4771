# cmake -DOUTPUT=file.cpp -DHEADER=file.h -DFUNCTION=name -P embed_texts.cmake NAME=FILE...
#
# Writes a source that defines `std::span<const inlay::EmbeddedText> FUNCTION()`: the texts of the
# files under the names given, in that order.

set(entries "")
set(is_file FALSE)
foreach(i RANGE 0 ${CMAKE_ARGC})
  set(argument "${CMAKE_ARGV${i}}")
  if(is_file AND argument MATCHES "^([^=]+)=(.+)$")
    set(name "${CMAKE_MATCH_1}")
    file(READ "${CMAKE_MATCH_2}" text)
    string(APPEND entries "    {\"${name}\", R\"inlay_text(${text})inlay_text\"},\n")
  endif()
  if(argument MATCHES "embed_texts.cmake$")
    set(is_file TRUE)
  endif()
endforeach()
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"

namespace {

constexpr inlay::EmbeddedText kTexts[] = {
${entries}};

}  // namespace

std::span<const inlay::EmbeddedText> ${FUNCTION}() { return kTexts; }
")
