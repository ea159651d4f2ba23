# The library: its version, its errors and its options.

.onLoad <- function(libname, pkgname) {
  wanted <- "0.3"  # interface 0 may change with the minor version
  found <- .Call(C_version)
  if (!startsWith(found, paste0(wanted, "."))) {
    stop("damier: the library is of version ", found, ", and the package needs ", wanted, ": install the package again")
  }
}

.onUnload <- function(libpath) {
  .Call(C_close)
  library.dynam.unload("damier", libpath)
}

dm_version <- function() .Call(C_version)

dm_choose_kernels <- function() invisible(.Call(C_choose_kernels))

dm_record <- function() {
  text <- .Call(C_record)
  if (nzchar(text)) fromJSON(text, simplifyVector = TRUE, simplifyDataFrame = FALSE)
}

# The classes of conditions, by the library's codes.
kinds <- c("1" = "verify", "2" = "usage", "3" = "input", "4" = "io", "5" = "fit", "6" = "device", "7" = "corrupt", "9" = "mpi",
           "10" = "unchecked", "70" = "bug", "75" = "stopped")

# Signals the error of a list that C returned.
fail <- function(answer) refuse(answer$message, in_r(answer$hint), kinds[[as.character(answer$code)]], answer$code)

# Signals an error with a hint.
refuse <- function(message, hint = "", kind = "usage", code = 2L) {
  shown <- if (nzchar(hint)) paste0(message, "\n  hint: ", hint) else message
  stop(structure(class = c(paste0("damier_", kind), "damier_error", "error", "condition"),
                 list(message = shown, call = NULL, code = code, hint = hint)))
}

warn <- function(message) {
  warning(structure(class = c("damier_warning", "warning", "condition"), list(message = message, call = NULL)))
}

# A hint or warning of the library, whose options are arguments here; commands stay as they are.
in_r <- function(hint) {
  hint <- sub("damier_choose_kernels", "dm_choose_kernels()", hint, fixed = TRUE)
  if (!grepl("--", hint, fixed = TRUE) || grepl("damier ", hint, fixed = TRUE)) return(hint)
  pieces <- gregexpr("--[a-z][a-z-]*( [0-9a-z:.]+)?", hint)
  regmatches(hint, pieces) <- lapply(regmatches(hint, pieces), function(words) {
    parts <- regmatches(words, regexec("^--([a-z-]+) ?(.*)$", words))
    vapply(parts, function(p) {
      name <- gsub("-", "_", p[[2]])
      if (name %in% flags) paste0(name, " = TRUE", if (nzchar(p[[3]])) paste0(" ", p[[3]]))
      else if (p[[3]] %in% c("", "is", "says", "names", "or", "and", "with", "reads", "takes", "limits")) trimws(paste(name, p[[3]]))
      else paste0(name, ' = "', p[[3]], '"')
    }, "")
  })
  hint
}

flags <- c("allow_external", "allow_filters", "allow_no_data", "allow_rounding", "allow_unchecked", "allow_virtual", "append", "as_column",
           "as_row", "force", "raw", "reproducible", "shuffle", "strict_types", "swmr", "verify_files")

# Options as texts, by the library's names.
texts <- function(options) {
  if (length(options) == 0) return(list())
  options <- options[!vapply(options, is.null, NA)]
  if (is.null(names(options)) || any(!nzchar(names(options)))) refuse("options are named, as threads = 2")
  names(options) <- gsub("[_.]", "-", names(options))
  ours <- grepl("-[ab]$", names(options)) |
    names(options) %in% c("op", "c", "beta", "batch", "top", "above", "below", "reduce", "each", "by", "no-self", "metric", "grm", "of")
  if (any(ours)) {
    refuse(paste0("the option ", gsub("-", "_", names(options)[ours][[1]]), " is not taken in R"),
           "t(x), x[i, j], dm_crossprod() and dm_file() state what A and B are; the program damier has all options")
  }
  for (name in names(options)) options[[name]] <- text_of(name, options[[name]])
  options
}

text_of <- function(name, value) {
  if (is.logical(value) && length(value) == 1 && !is.na(value)) return(if (value) "yes" else "no")
  if (is.character(value) && length(value) == 1 && !is.na(value)) {
    return(if (name == "memory" && !grepl("=", value, fixed = TRUE)) paste0("host=", value) else enc2utf8(value))
  }
  if (name == "weights" && is.numeric(value)) return(as.double(value))
  if (is.complex(value) && length(value) == 1) return(paste(number_of(Re(value)), number_of(Im(value)), sep = ","))
  if (is.numeric(value) && length(value) > 0 && !anyNA(value)) {
    text <- paste(vapply(value, number_of, ""), collapse = if (name %in% c("grid", "chunk")) "x" else ",")
    return(if (name == "memory") paste0("host=", text) else text)
  }
  refuse(paste0("the option ", gsub("-", "_", name), " is neither a text, a number nor TRUE or FALSE"))
}

number_of <- function(value) format(value, digits = 17, scientific = if (value == round(value) && abs(value) < 1e15) FALSE else NA)
