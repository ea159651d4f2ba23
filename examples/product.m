% Z = X Y, covariances and principal components of X, from Octave, by files of HDF5; in an empty folder, with damier in PATH:
%     octave-cli product.m
% Octave stores matrices by columns, so damier sees their transposes: the factors swap, and columns of Octave are its rows.
1;

function damier(varargin)
  words = cellfun(@(word) ["'", word, "'"], varargin, "UniformOutput", false);
  [code, text] = system(["damier ", strjoin(words), " -qq 2>&1"]);
  if code != 0
    error("damier: exit %d: %s", code, text);
  end
end

function check(what, found, wanted)
  printf("%s: %s\n", what, ifelse(max(abs(found - wanted)(:)) <= 1e-10 * max(abs(wanted)(:)), "right", "WRONG"));
end

function value = ifelse(condition, yes, no)
  if condition, value = yes; else, value = no; end
end

x = randn(300, 40);
y = randn(40, 10);
save("-hdf5", "X.h5", "x");
save("-hdf5", "Y.h5", "y");
damier("multiply", "Y.h5", "X.h5", "-o", "Z.h5:/z");
check("x * y", load("-hdf5", "Z.h5").z, x * y);
damier("gram", "X.h5", "--of", "rows", "-o", "G.h5:/g");
check("x' * x", load("-hdf5", "G.h5").g, x' * x);
damier("cov", "X.h5", "--of", "rows", "-o", "V.h5:/v");
check("cov(x)", load("-hdf5", "V.h5").v, cov(x));

w = complex(randn(40, 5), randn(40, 5));
save("-hdf5", "W.h5", "w");
damier("multiply", "W.h5", "X.h5", "-o", "U.h5:/u");
check("x * w, complex", load("-hdf5", "U.h5").u, x * w);

damier("pca", "X.h5", "--of", "rows", "--rank", "3", "-o", "P.h5:/p");
p = load("-hdf5", "P.h5").p;
s = svd(x - mean(x));
check("singular values", p.singular_values(:), s(1:3));
