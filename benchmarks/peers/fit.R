# Rscript fit.R FOLDER PACKAGE CALL COLUMN...: evaluate CALL, time it with its predictions, write them to FOLDER/answer.
arguments <- commandArgs(TRUE)
folder <- arguments[1]
package <- arguments[2]
call <- parse(text = arguments[3])[[1]]
columns <- arguments[-(1:3)]
if (!requireNamespace(package, quietly = TRUE)) quit(status = 3)
suppressPackageStartupMessages(library(package, character.only = TRUE))
library(splines)

read <- function(name, columns) {
  path <- file.path(folder, name)
  values <- readBin(path, "double", file.size(path) / 8)
  data <- as.data.frame(matrix(values, ncol = length(columns), dimnames = list(NULL, columns)))
  if ("g" %in% columns) data$g <- factor(data$g)
  data
}

# A two-column response is mgcv's spelling of censoring, Surv survival's; status is -1 left, 0 exact, 1 right.
prepare <- function(data) {
  if (package == "mgcv") {
    # Discretising stops at infinite entries above 10,000 rows; an interval of 10 sd says the same.
    far <- if (grepl("discrete", arguments[3])) 10 * sd(data$y) else Inf
    data$Y <- with(data, if (is.finite(far)) {
      cbind(y - far * (status < 0), y + far * (status > 0))
    } else {
      cbind(y, ifelse(status == 0, y, status * Inf))
    })
  } else {
    data$S <- with(data, Surv(ifelse(status < 0, -Inf, y), ifelse(status > 0, Inf, y), type = "interval2"))
  }
  data
}

answer <- function(train, test) predict(eval(call, list(train = train)), test, se.fit = TRUE)

train <- prepare(read("train", columns))
test <- read("test", setdiff(columns, c("y", "status")))
invisible(try(answer(head(train, 500), head(test, 500)), silent = TRUE)) # caches; large bases want more rows
began <- proc.time()
found <- answer(train, test)
took <- proc.time() - began
status <- "/proc/self/status"
peak <- if (file.exists(status)) grep("VmHWM", readLines(status), value = TRUE) else character()
peak_mb <- if (length(peak)) as.numeric(gsub("[^0-9]", "", peak)) / 1024 else NaN
writeBin(c(took[["elapsed"]], took[["user.self"]] + took[["sys.self"]], peak_mb, found$fit, found$se.fit), file.path(folder, "answer"))
