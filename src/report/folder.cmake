# The report's page is compiled in; what it draws with comes from a package (libjs-chart.js) when a
# report is written.
set(page ${CMAKE_CURRENT_SOURCE_DIR}/src/report/html)
set(page_s ${CMAKE_CURRENT_BINARY_DIR}/gen/report_page.S)
set(text "    .section .rodata\n")
foreach(part html css js)
  string(APPEND text "    .globl report_page_${part}\nreport_page_${part}:\n    .incbin \"${page}/page.${part}\"\n    .byte 0\n")
endforeach()
file(CONFIGURE OUTPUT ${page_s} @ONLY CONTENT "@text@    .section .note.GNU-stack,\"\",%progbits\n")
set_source_files_properties(${page_s} PROPERTIES OBJECT_DEPENDS "${page}/page.html;${page}/page.css;${page}/page.js")
target_sources(allot_report PRIVATE ${page_s})
